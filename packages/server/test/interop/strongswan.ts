import { certificateInfo } from '@holdfast/crypto'
import { runOnFiles } from './tools.ts'

/**
 * Leaves out certificates of the anchors themselves. With roots that certify each other, strongSwan follows the cycle
 * until it gives up.
 */
export function beside(anchors: readonly string[], others: readonly string[]): string[] {
  const subjects = new Set(anchors.map((anchor) => certificateInfo(anchor).subject))
  return [...new Set(others)].filter((other) => !subjects.has(certificateInfo(other).subject))
}

/** Every step up is a CA that strongSwan is given; it trusts the one that signed itself. */
export async function judgedByStrongswan(leaf: string, cas: readonly string[], lists: readonly string[] = []) {
  const named = (kind: string, texts: readonly string[]) => texts.map((text, i) => [`${kind}${i}`, text] as const)
  const [caFiles, listFiles] = [named('ca', cas), named('crl', lists)]
  const args = [
    ...['--verify', '--in', 'leaf'],
    ...caFiles.flatMap(([name]) => ['--cacert', name]),
    ...listFiles.flatMap(([name]) => ['--crl', name]),
  ]
  const { status, stdout, stderr } = await runOnFiles(
    'pki',
    Object.fromEntries([['leaf', leaf], ...caFiles, ...listFiles]),
    args,
  )
  return { isTrusted: status === 0, text: stdout + stderr }
}
