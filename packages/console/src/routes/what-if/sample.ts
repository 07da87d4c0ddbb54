import { call, type InputOf, type OutputOf } from '../../api/client.ts'

const route = 'POST /v1/admin/policy/simulate'
type Answers = OutputOf<typeof route>['answers']
export type Decided = Answers[number]['before']

/** Device of the sample. */
export type Sampled = { id: string; name: string; user: string | null }
/** Decisions for one device, one for each target. */
export type SampleRow = { device: Sampled; cells: readonly { before: Decided; after: Decided }[] }
type Document = InputOf<typeof route>['body']['policy']

/** Most devices and targets of a sample: the server answers 200 questions at once. */
export const sampleLimits = { devices: 12, targets: 6 } as const

/** Asks for the decisions of all devices and targets, before and after a document. */
export async function sampleOf(
  document: Document,
  devices: readonly Sampled[],
  targets: readonly string[],
  signal: AbortSignal,
) {
  const questions = devices.flatMap(({ id }) => targets.map((target) => ({ device_id: id, target })))
  const { answers, impact } = await call(route, { body: { policy: document, questions } }, { signal })
  const rows = devices.map(
    (device, i): SampleRow => ({ device, cells: answers.slice(i * targets.length, (i + 1) * targets.length) }),
  )
  return { rows, impact }
}
