import { useEffect, useEffectEvent, useState } from 'react'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { CopyButton, copyIcons, useCopy } from '../../ui/copy.tsx'
import { isTyping } from '../../ui/is-typing.ts'
import { Note } from '../../ui/note.tsx'
import { QrCode } from '../../ui/qr-code.tsx'
import { Segment } from '../../ui/tabs.tsx'
import { useTimeZone } from '../../ui/time-zone.ts'
import { platformWords } from '../devices/words.ts'
import { InstallLinesSheet } from './install-lines-sheet.tsx'
import { mailText } from './mail-text.ts'
import type { MadeToken } from './token-form.tsx'

type Platform = keyof MadeToken['install_lines']
type Props = {
  made: MadeToken
  /** Called after the line, the token or the text was copied, or the QR code was shown. */
  onStored: () => void
}

/** Line to run on the device, by platform; for phones as a QR code too. */
export function InstallLine({ made, onStored }: Props) {
  const platforms = (Object.keys(made.install_lines) as Platform[]).filter((p) => made.install_lines[p] !== null)
  const [chosen, setChosen] = useState(ownPlatform)
  const platform = platforms.includes(chosen) ? chosen : platforms[0]
  const shown = useLine(made, platform ?? chosen)
  if (platform === undefined || !shown)
    return <p className="soft">No platform of this token has an install line. Copy the token into the client.</p>
  const isPhone = platform === 'ios' || platform === 'android'
  return (
    <>
      <Segment
        label="Platform"
        options={platforms.map((value) => ({ value, label: platformWords[value] }))}
        value={platform}
        onChange={(next) => {
          setChosen(next)
          if (next === 'ios' || next === 'android') onStored()
        }}
      />
      {shown.downloadUrl && (
        <span>
          First{' '}
          <a href={shown.downloadUrl} rel="noreferrer" target="_blank">
            install the client for {platformWords[platform]}
          </a>
          .
        </span>
      )}
      {isPhone && <QrCode text={shown.line} label="QR code with the server and the token" />}
      <CodeBlock text={shown.line} label="Copy this line" doesWrap>
        {!isPhone && <span className="p">$ </span>}
        {shown.line}
      </CodeBlock>
      <CopyRow made={made} line={shown.line} platform={platform} url={shown.downloadUrl} onStored={onStored} />
      {shown.isExample && <ExampleNote />}
    </>
  )
}

type CopyRowProps = Props & { line: string; platform: Platform; url: string | null }

function CopyRow({ made, line, platform, url, onStored }: CopyRowProps) {
  const { result, copy } = useCopy(line)
  const zone = useTimeZone()
  const copyLine = async () => {
    if (await copy()) onStored()
  }
  useKeyC(() => void copyLine())
  return (
    <div className="row wrap">
      <Button autoFocus kind="primary" icon={result ? copyIcons[result] : 'copy'} kbd="C" onClick={copyLine}>
        Copy install line
      </Button>
      <CopyButton text={made.secret} label="Copy token only" onCopied={onStored} />
      <CopyButton
        kind="ghost"
        text={mailText({ token: made.enrollment_token, line, platform, url, zone })}
        label="Copy as e-mail text"
        onCopied={onStored}
      />
    </div>
  )
}

/** Copies on `c` while the sheet is the topmost dialog and no field has the focus. */
function useKeyC(act: () => void): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.key !== 'c' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return
    if (document.querySelectorAll('dialog[open]').length > 1) return
    event.preventDefault()
    act()
  })
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event)
    window.addEventListener('keydown', listener)
    return () => window.removeEventListener('keydown', listener)
  }, [])
}

/** Returns the line from the current settings, so that a change while the sheet is open is used at once. */
function useLine({ install_lines, secret }: MadeToken, platform: Platform) {
  const can = useCan()
  const { data } = useApi('GET /v1/admin/settings/enrollment', {}, { enabled: can('settings:read') })
  const given = install_lines[platform]
  if (!given) return undefined
  const line = data ? data.install_lines[platform].replaceAll('{token}', secret) : given.line
  return {
    line,
    downloadUrl: data ? data.download_urls[platform] : given.download_url,
    isExample: data ? data.install_templates[platform] === null : isBuiltIn(line),
  }
}
/** True for the built-in lines, which name no client. For callers that may not read the settings. */
const isBuiltIn = (line: string) => /^your-agent(\.exe)? enroll |^https?:\S+ \S+$/.test(line)

function ExampleNote() {
  const can = useCan()
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <Note
        title="This line is an example."
        actions={
          can('settings:write') && (
            <Button size="sm" onClick={() => setIsOpen(true)}>
              Set install lines…
            </Button>
          )
        }
      >
        <p>
          Holdfast has no client of its own.{' '}
          {can('settings:write')
            ? 'Set the line of your client once. It then appears here.'
            : 'An administrator sets the line of your client under Enrollment.'}
        </p>
      </Note>
      {isOpen && <InstallLinesSheet onClose={() => setIsOpen(false)} />}
    </>
  )
}

/** Returns the platform of this browser: people often enroll the machine that they use. */
function ownPlatform(): Platform {
  const agent = navigator.userAgent
  if (/iPhone|iPad/.test(agent)) return 'ios'
  if (agent.includes('Android')) return 'android'
  if (agent.includes('Windows')) return 'windows'
  return agent.includes('Mac') ? 'macos' : 'linux'
}
