import { useState } from 'react'
import { announce } from './announce.ts'
import { Button } from './button.tsx'
import { copyText } from './copy-command.ts'
import { shortId } from './format.ts'
import { IconButton } from './icon-button.tsx'

/**
 * Copies a text, and says for two seconds that it did or could not.
 *
 * @example const { result, copy } = useCopy(line)
 */
export function useCopy(text: string) {
  const [result, setResult] = useState<'copied' | 'refused'>()
  const copy = async () => {
    const done = await copyText(text).then(
      () => 'copied' as const,
      () => 'refused' as const,
    )
    setResult(done)
    announce(done === 'copied' ? 'Copied' : 'The browser refused to copy. Select the text and copy it.')
    setTimeout(() => setResult(undefined), 2000)
    return done === 'copied'
  }
  return { result, copy }
}
/** The icon of a result, in place of the one for copying. */
export const copyIcons = { copied: 'check', refused: 'warn' } as const

/**
 * An identifier in short, with a button that copies all of it.
 *
 * @example <CopyId id={device.id} />
 */
export function CopyId({ id, short = shortId(id) }: { id: string; short?: string | undefined }) {
  return (
    <span className="id">
      <span className="trunc" title={id}>
        {short}
      </span>
      <CopyIcon text={id} label={`Copy ${id}`} size="s" />
    </span>
  )
}

/** The icon that copies a text. */
export function CopyIcon({ text, label, size }: { text: string; label: string; size?: 's' | undefined }) {
  const { result, copy } = useCopy(text)
  return <IconButton icon={result ? copyIcons[result] : 'copy'} label={label} size={size} onClick={copy} />
}

type CopyButtonProps = {
  text: string
  label: string
  kind?: 'primary' | 'ghost' | undefined
  size?: 'sm' | undefined
  /** After the text is in the clipboard. */
  onCopied?: (() => void) | undefined
}

/**
 * A button with words that copies a text.
 *
 * @example <CopyButton text={command} label="Copy as command" kind="ghost" />
 */
export function CopyButton({ text, label, kind, size, onCopied }: CopyButtonProps) {
  const { result, copy } = useCopy(text)
  const click = async () => {
    if (await copy()) onCopied?.()
  }
  return (
    <Button kind={kind} size={size} icon={result ? copyIcons[result] : 'copy'} onClick={() => void click()}>
      {label}
    </Button>
  )
}
