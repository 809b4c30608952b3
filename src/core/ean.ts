/** EANs: thirteen digits of which the last is a check digit over the other twelve (GS1). Kept as text: many begin with zeros. */

const SHAPE = /^[0-9]{13}$/;

/** Whether the text is an EAN with its right check digit. */
export function isEan(text: string): boolean {
  return SHAPE.test(text) && checkDigit(text) === text.charCodeAt(12) - 48;
}

/** What keeps the text from being an EAN, as the end of a sentence that began with it; null when it is one. */
export function eanProblem(text: string): string | null {
  if (text === '') return 'is empty';
  const length = text.length;
  if (!/^[0-9]+$/.test(text)) return 'has other characters than digits';
  if (length !== 13) return `has ${length} ${length === 1 ? 'digit' : 'digits'}, not 13`;
  const right = checkDigit(text);
  return right === text.charCodeAt(12) - 48 ? null : `has the check digit ${text[12]}, which should be ${right}`;
}

/** Over the first twelve digits: every second counts three times, and the check digit fills the sum up to tens. */
function checkDigit(digits: string): number {
  let sum = 0;
  for (let i = 0; i < 12; i++) sum += (digits.charCodeAt(i) - 48) * (i % 2 === 0 ? 1 : 3);
  return (10 - (sum % 10)) % 10;
}

/** The conditions of a product that the service knows. */
export const CONDITIONS = ['NEW', 'AS_NEW', 'GOOD', 'REASONABLE', 'MODERATE'] as const;
