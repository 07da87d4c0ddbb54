import type { ReactNode } from 'react'
import { type Names, namesAt } from '../../editor/complete.ts'
import { choicesOf, type Path, type Schema } from '../../editor/schema.ts'
import { Button } from '../../ui/button.tsx'
import { NumberField, SelectField, TextArea, TextField } from '../../ui/fields.tsx'
import { ListField } from '../../ui/list-field.tsx'
import { labelOf, unitOf } from './field-words.ts'
import { JsonField } from './json-field.tsx'
import { isFields } from './rule-words.ts'

type Fields = Readonly<Record<string, unknown>>
type FormProps = {
  schema: Schema
  value: unknown
  /** Place in the document, for names and errors. */
  path: Path
  names: Names
  errorAt: (path: Path) => string | undefined
  onChange: (value: unknown) => void
}

/** Form of an object of a policy document, made from its schema. Fields that the schema does not know stay as they are. */
export function SchemaForm({ schema, value, path, names, errorAt, onChange }: FormProps) {
  const fields: Fields = isFields(value) ? value : {}
  const set = (name: string, next: unknown) => {
    const { [name]: _, ...others } = fields
    // A changed field keeps its place, and a new one comes last.
    const changed = name in fields ? { ...fields, [name]: next } : { ...others, [name]: next }
    onChange(next === undefined ? others : changed)
  }
  const known = Object.entries(schema.properties ?? {}).filter(([name]) => isShown(name, schema, fields))
  const unknown = Object.keys(fields).filter((name) => schema.properties?.[name] === undefined)
  return (
    <>
      {known.map(([name, own]) => (
        <SchemaField
          key={name}
          name={name}
          schema={own}
          value={fields[name]}
          path={[...path, name]}
          isRequired={schema.required?.includes(name) ?? false}
          {...{ names, errorAt }}
          onChange={(next) => set(name, next)}
        />
      ))}
      {unknown.length > 0 && (
        <p className="soft xs">
          Kept as in the JSON: <code>{unknown.join(', ')}</code>
        </p>
      )}
    </>
  )
}

/** A subject has two forms. The form for one name is shown only if the document uses it. */
const isShown = (name: string, { properties = {} }: Schema, fields: Fields): boolean =>
  !(`${name}s` in properties && ['user', 'group', 'tag', 'device'].includes(name)) || name in fields

type FieldProps = FormProps & { name: string; isRequired: boolean }

function SchemaField(props: FieldProps) {
  const { name, schema, value, path, isRequired, names, errorAt, onChange } = props
  const field = {
    label: labelOf(name),
    help: firstSentence(schema.description),
    optional: !isRequired,
    error: errorAt(path),
  }
  const choices = choicesOf(schema) ?? (schema.type === 'boolean' ? ['true', 'false'] : undefined)
  if (choices)
    return (
      <SelectField
        {...field}
        options={[
          ...(isRequired && value !== undefined ? [] : [{ value: '', label: 'Default' }]),
          ...choices.map((choice) => ({ value: choice, label: choice })),
        ]}
        value={value === undefined ? '' : String(value)}
        onChange={(next) => onChange(next === '' ? undefined : schema.type === 'boolean' ? next === 'true' : next)}
      />
    )
  if (schema.type === 'integer' || schema.type === 'number')
    return (
      <NumberField
        {...field}
        unit={unitOf(name)}
        min={schema.minimum}
        max={schema.maximum}
        value={typeof value === 'number' ? value : undefined}
        onChange={onChange}
      />
    )
  if (schema.type === 'string') return <TextOf {...props} field={field} />
  if (schema.type === 'array' && schema.items?.type === 'object') return <Items {...props} field={field} />
  if (schema.type === 'array')
    return (
      <ListField
        {...field}
        value={Array.isArray(value) ? value.map(String) : []}
        choices={choicesOf(schema.items)}
        search={(text) => namesAt(names, path, text)}
        onChange={(next) => onChange(next.length === 0 && !isRequired ? undefined : next)}
      />
    )
  if (schema.properties) return <Group {...props} field={field} />
  return <JsonField {...field} value={value} onChange={onChange} />
}

type Wired = FieldProps & { field: { label: string; help: ReactNode; optional: boolean; error: string | undefined } }

function TextOf({ schema, value, field, onChange }: Wired) {
  const text = typeof value === 'string' ? value : ''
  const change = (next: string) => onChange(next === '' && field.optional ? undefined : next)
  const isLong = (schema.maxLength ?? 0) > 512
  return isLong ? (
    <TextArea {...field} rows={2} value={text} onChange={change} />
  ) : (
    <TextField {...field} maxLength={schema.maxLength} autoComplete="off" value={text} onChange={change} />
  )
}

/** Object inside the object: its own fields, below a heading. */
function Group({ schema, value, path, names, errorAt, onChange, field }: Wired) {
  const change = (next: unknown) =>
    onChange(isFields(next) && Object.keys(next).length === 0 && field.optional ? undefined : next)
  return (
    <fieldset className="f group">
      <legend className="lab">
        {field.label} {field.optional && <span className="opt">optional</span>}
      </legend>
      {field.help && <span className="help">{field.help}</span>}
      <div className="stack inset">
        <SchemaForm {...{ schema, value, path, names, errorAt }} onChange={change} />
      </div>
    </fieldset>
  )
}

/** List of objects, for example time windows. */
function Items({ schema, value, path, names, errorAt, onChange, field }: Wired) {
  const items: readonly unknown[] = Array.isArray(value) ? value : []
  const set = (next: readonly unknown[]) => onChange(next.length === 0 ? undefined : next)
  return (
    <fieldset className="f group">
      <legend className="lab">
        {field.label} <span className="opt">optional</span>
      </legend>
      {items.map((item, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the items have no names
        <div key={i} className="stack inset">
          <SchemaForm
            {...{ names, errorAt }}
            schema={schema.items ?? {}}
            value={item}
            path={[...path, i]}
            onChange={(next) => set(items.with(i, next))}
          />
          <div className="row">
            <Button size="sm" kind="danger" onClick={() => set(items.toSpliced(i, 1))}>
              Remove this one
            </Button>
          </div>
        </div>
      ))}
      <div className="row">
        <Button size="sm" icon="plus" onClick={() => set([...items, {}])}>
          Add to {field.label.toLowerCase()}
        </Button>
      </div>
    </fieldset>
  )
}

const firstSentence = (text: string | undefined) =>
  text && `${text.split('. ')[0]!.replace(/\.$/, '')}.`.replaceAll('`', '')
