import { hostileNight } from './hostile-night.ts';

hostileNight('duckdb', () => undefined);
