/** Every way in which the kit disturbs the program. */
import { damages } from './damage.ts';
import { fullDisks } from './full.ts';
import { killedAtSteps, kills } from './kills.ts';
import { outages } from './outages.ts';
import { killedServe } from './serve.ts';
import type { Kind } from './stage.ts';

export const KINDS: readonly Kind[] = [...kills, killedAtSteps, killedServe, ...outages, ...fullDisks, ...damages];
