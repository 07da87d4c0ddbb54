import { formatNumber } from './format.ts'

type Bounds = { min?: number | undefined; max?: number | undefined; optional?: boolean | undefined }
type Parsed = { value: number | undefined; error: string | undefined }

/**
 * Reads a whole number that a person typed. Digit groups ("1,500") are allowed.
 *
 * @example parseWholeNumber('1,500', { min: 1 }) // { value: 1500, error: undefined }
 */
export function parseWholeNumber(text: string, { min, max, optional = false }: Bounds): Parsed {
  const plain = text.trim().replace(/(?<=\d)[, ](?=\d{3}\b)/g, '')
  if (plain === '') return { value: undefined, error: optional ? undefined : `Enter ${ruleOf(min, max)}.` }
  const value = /^-?\d{1,15}$/.test(plain) ? Number(plain) : Number.NaN
  const isRight = !Number.isNaN(value) && value >= (min ?? value) && value <= (max ?? value)
  if (isRight) return { value, error: undefined }
  return { value: undefined, error: `"${text.trim()}" is not valid. Enter ${ruleOf(min, max)}.` }
}

function ruleOf(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return `a whole number from ${formatNumber(min)} to ${formatNumber(max)}`
  if (min !== undefined) return `a whole number, at least ${formatNumber(min)}`
  if (max !== undefined) return `a whole number, at most ${formatNumber(max)}`
  return 'a whole number'
}
