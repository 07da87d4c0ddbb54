import { type FactType, factTypes, ownFacts } from '@holdfast/contract/posture-facts'
import { type Expression, factsIn, type Literal, type Operand, type Sign } from './expression.ts'
import { createSuggest, didYouMean } from './suggest.ts'
import { parseVersion } from './version.ts'

const unknownFact = (name: string): string => {
  const near = didYouMean(createSuggest(() => factTypes.keys())(name))
  return `unknown fact "${name}"${near === '' ? `; correct it, or begin the name of your own fact with "${ownFacts}"` : `.${near}`}`
}

const spoken: Record<FactType, string> = {
  text: 'a text',
  number: 'a number',
  boolean: 'true or false',
  time: 'a time',
  list: 'a list',
}

/**
 * Returns the reasons why an expression can never be true or false for any report: it reads a fact that no device
 * reports, or compares one with a value of the wrong type. The types of a tenant's own facts are unknown, so those
 * pass.
 */
export function typeErrors(expression: Expression): string[] {
  const errors: string[] = []

  for (const name of factsIn(expression))
    if (!factTypes.has(name) && !name.startsWith(ownFacts)) errors.push(unknownFact(name))

  const expect = (fact: string, wanted: readonly FactType[], how: string): void => {
    const type = factTypes.get(fact)
    if (type && !wanted.includes(type)) errors.push(`${fact} is ${spoken[type]}; ${how}`)
  }
  const ordered = (fact: string, literal: Literal): void => {
    const type = factTypes.get(fact)
    if (type === 'number' && typeof literal === 'string') errors.push(`${fact} is a number; compare it with a number`)
    if (type === 'text' && typeof literal !== 'string')
      errors.push(`${fact} is a text; compare it with a text such as "${literal}"`)
  }
  const equal = (fact: string, literal: Literal): void => {
    if (typeof literal === 'string') expect(fact, ['text', 'time'], `it never equals the text "${literal}"`)
    else expect(fact, [typeof literal === 'number' ? 'number' : 'boolean'], `it never equals ${literal}`)
  }
  const compare = (sign: Sign, left: Operand, right: Operand): void => {
    const isOrder = sign !== '==' && sign !== '!='
    const check = isOrder ? ordered : equal
    for (const side of [left, right]) {
      if ('fact' in side) {
        if (isOrder) expect(side.fact, ['number', 'text'], '< <= > >= compare only numbers and versions')
        else expect(side.fact, ['number', 'text', 'boolean', 'time'], `write "value" in ${side.fact}`)
      } else if (isOrder && typeof side.literal === 'string' && !parseVersion(side.literal))
        errors.push(`"${side.literal}" is not a version; < <= > >= compare only numbers and versions`)
    }
    if ('fact' in left && 'fact' in right) {
      const [a, b] = [factTypes.get(left.fact), factTypes.get(right.fact)]
      if (a && b && a !== b)
        errors.push(`${left.fact} is ${spoken[a]} and ${right.fact} is ${spoken[b]}; compare facts of the same type`)
    } else if ('fact' in left && 'literal' in right) check(left.fact, right.literal)
    else if ('literal' in left && 'fact' in right) check(right.fact, left.literal)
  }
  const walk = (e: Expression): void => {
    if ('parts' in e) e.parts.forEach(walk)
    else if ('part' in e) walk(e.part)
    else if (e.op === 'fact') expect(e.fact, ['boolean'], 'compare it with a value')
    else if (e.op === 'compare') compare(e.sign, e.left, e.right)
    else if (e.op === 'one_of') for (const value of e.values) equal(e.fact, value)
    else if (e.op === 'contains') expect(e.fact, ['list'], '"in" needs a list here')
    else if (e.op === 'within_last') expect(e.fact, ['time'], 'within_last needs a time')
  }
  walk(expression)
  return [...new Set(errors)]
}
