import { type ReactNode, useEffect, useRef, useState } from 'react'
import { expectOwnChange } from '../../api/live.ts'
import { uploadPackage } from '../../api/upload.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { Field } from '../../ui/field.tsx'
import { SelectField } from '../../ui/fields.tsx'
import { formatBytes, formatPercent, formatWord } from '../../ui/format.ts'
import { Bullet } from '../../ui/progress.tsx'
import { toast } from '../../ui/toast.tsx'
import { refreshReleases } from './move-release.ts'
import type { Package, Release } from './words.ts'

const platforms = (['macos', 'windows', 'linux', 'ios', 'android', 'other'] as const).map((value) => ({
  value,
  label: formatWord(value),
}))
const architectures = (['x64', 'arm64', 'x86', 'arm', 'universal'] as const).map((value) => ({
  value,
  label: value === 'universal' ? 'Universal: fits every architecture' : value,
}))

/** Adds a file to a draft. The bytes are streamed, and the bar shows the share that was sent. */
export function UploadForm({ release }: { release: Release }) {
  const [file, setFile] = useState<File>()
  const [platform, setPlatform] = useState<Package['platform']>('macos')
  const [arch, setArch] = useState<Package['arch']>('universal')
  const { share, error, upload, cancel } = useUpload(release)
  const picker = useRef<HTMLInputElement>(null)
  const submit = async () => {
    if (!file || !(await upload(file, { platform, arch, filename: file.name }))) return
    setFile(undefined)
    if (picker.current) picker.current.value = ''
  }
  return (
    <form
      className="stack"
      aria-label="Upload a package"
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      <Field label="Package file">
        {(wiring) => (
          <input
            {...wiring}
            ref={picker}
            className="in-t"
            type="file"
            onChange={(event) => setFile(event.target.files?.[0])}
          />
        )}
      </Field>
      <SelectField label="Platform" options={platforms} value={platform} onChange={setPlatform} />
      <SelectField label="Architecture" options={architectures} value={arch} onChange={setArch} />
      {share !== undefined && file && <Sending share={share} file={file} onCancel={cancel} />}
      {error && <ChangeProblem error={error} />}
      <div>
        <Button
          type="submit"
          size="sm"
          icon="plus"
          busyLabel="Uploading…"
          isBusy={share !== undefined}
          {...(!file && { offReason: 'Choose a file first.' })}
        >
          Upload package
        </Button>
      </div>
    </form>
  )
}

function Sending({ share, file, onCancel }: { share: number; file: File; onCancel: () => void }): ReactNode {
  const sent = `${formatPercent(share)} of ${formatBytes(file.size)} sent`
  return (
    <div className="stack tight" role="status">
      <div className="row between">
        <span className="num xs soft">{share === 1 ? 'The server checks and stores it…' : sent}</span>
        <Button kind="ghost" size="sm" onClick={onCancel}>
          Cancel upload
        </Button>
      </div>
      <Bullet share={share} label={`${file.name}: ${sent}`} />
    </div>
  )
}

type Slot = { platform: Package['platform']; arch: Package['arch']; filename: string }

/** Runs one upload at a time, and aborts it when the form is closed. */
function useUpload({ release_id, version }: Release) {
  const [share, setShare] = useState<number>()
  const [error, setError] = useState<Error>()
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])
  const upload = async (file: File, query: Slot): Promise<boolean> => {
    const controller = new AbortController()
    running.current = controller
    setError(undefined)
    setShare(0)
    try {
      expectOwnChange('updates')
      const options = { signal: controller.signal, onProgress: setShare }
      const { changed } = await uploadPackage({ params: { release_id }, query }, file, options)
      await refreshReleases()
      toast({ title: changed ? `${file.name} added to ${version}` : `${file.name} was already uploaded` })
      return true
    } catch (e) {
      if (!controller.signal.aborted) setError(e as Error)
      return false
    } finally {
      setShare(undefined)
    }
  }
  return { share, error, upload, cancel: () => running.current?.abort() }
}
