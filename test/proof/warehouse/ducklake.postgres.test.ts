/** A DuckLake on a folder is held to what every target is. */
import { describe } from 'vitest';
import { extensionsFolder } from '../../support/extensions.ts';
import { conformance, sharedConformance } from '../../warehouse/conformance.ts';
import { ducklakeWarehouses } from '../../warehouse/ducklake/warehouse.ts';

const extensions = await extensionsFolder();

describe.skipIf(extensions === null)('DuckLake', () => {
  const newWarehouse = ducklakeWarehouses(extensions ?? '');
  conformance(newWarehouse);
  sharedConformance(newWarehouse);
});
