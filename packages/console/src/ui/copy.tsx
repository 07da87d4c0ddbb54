import { useState } from 'react'
import { announce } from './announce.ts'
import { Button } from './button.tsx'
import { copyText } from './copy-command.ts'
import { shortId } from './format.ts'
import { IconButton } from './icon-button.tsx'

/**
 * Copies a text, and shows for 2 s whether that worked.
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
/** Icons of the results. They replace the copy icon. */
export const copyIcons = { copied: 'check', refused: 'warn' } as const

/**
 * Shortened identifier with a button that copies the full one.
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

/** Icon button that copies a text. */
export function CopyIcon({ text, label, size }: { text: string; label: string; size?: 's' | undefined }) {
  const { result, copy } = useCopy(text)
  return <IconButton icon={result ? copyIcons[result] : 'copy'} label={label} size={size} onClick={copy} />
}

type CopyButtonProps = {
  text: string
  label: string
  kind?: 'primary' | 'ghost' | undefined
  size?: 'sm' | undefined
  /** Called after the text is in the clipboard. */
  onCopied?: (() => void) | undefined
}

/**
 * Button with a label that copies a text.
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
