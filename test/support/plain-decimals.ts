import type { FileMetaData, SchemaElement } from 'hyparquet';

/** The reader would turn a decimal into a floating-point number; without its mark it hands over the whole number that is stored. */
export function plainDecimals(metadata: FileMetaData): FileMetaData {
  const bare = ({ converted_type, logical_type, ...rest }: SchemaElement): SchemaElement =>
    converted_type === 'DECIMAL'
      ? rest
      : { ...rest, ...(converted_type && { converted_type }), ...(logical_type && { logical_type }) };
  return { ...metadata, schema: metadata.schema.map(bare) };
}
