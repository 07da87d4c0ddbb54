import type { ReactNode } from 'react'
import { CopyIcon } from './copy.tsx'
import { inTenant } from './copy-command.ts'

type CodeBlockProps = {
  /** Text that the button copies. It is shown too unless there are children. */
  text: string
  label?: string | undefined
  doesWrap?: boolean | undefined
  /** Same text with colours. */
  children?: ReactNode
}

/**
 * Code with a button that copies it.
 *
 * @example <CodeBlock text={JSON.stringify(rule, null, 2)} label="Copy rule" />
 */
export function CodeBlock({ text, label = 'Copy', doesWrap = false, children }: CodeBlockProps) {
  return (
    <div className="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <pre className={doesWrap ? 'wrapit' : undefined} tabIndex={0}>
        {children ?? text}
      </pre>
      <CopyIcon text={text} label={label} />
    </div>
  )
}

/**
 * Command line for a shell. The prompt is not copied.
 *
 * @example <CommandLine text="holdfast device list --status active" />
 */
export function CommandLine({ text, label = 'Copy command' }: { text: string; label?: string | undefined }) {
  return (
    <CodeBlock text={text} label={label} doesWrap>
      <span className="p">$</span> {inTenant(text)}
    </CodeBlock>
  )
}
