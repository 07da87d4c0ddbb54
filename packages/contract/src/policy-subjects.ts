import { Type } from 'typebox'
import { Closed } from './schema.ts'

const optional = Type.Optional
export const printable = '^[^\\u0000-\\u001f\\u007f]+$'
export const list = (pattern: string, maxLength: number, maxItems: number, description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength, pattern }), { maxItems, uniqueItems: true, description })

/** The words for subjects: the field of a list, the field of one text, and the form of a name. */
const subject = {
  user: { pattern: printable, maxLength: 320, most: 10_000, about: 'by user_id, username or email' },
  group: {
    pattern: printable,
    maxLength: 256,
    most: 2_000,
    about: 'by name. A group of this document comes first, then a directory group by group_id or name',
  },
  tag: { pattern: '^[a-z0-9][a-z0-9._:-]*$', maxLength: 64, most: 2_000, about: 'as the device has it' },
  device: { pattern: printable, maxLength: 64, most: 10_000, about: 'by device_id' },
} as const
export type SubjectWord = keyof typeof subject
const one = (word: SubjectWord, description = `The same as \`${word}s\` with one entry`) => {
  const { pattern, maxLength } = subject[word]
  return optional(Type.String({ minLength: 1, maxLength, pattern, description }))
}
const several = (word: SubjectWord, noun: string) => {
  const { pattern, maxLength, most, about } = subject[word]
  return optional(list(pattern, maxLength, most, `${noun}, ${about}`))
}
export const Subjects = Closed(
  {
    users: several('user', 'Users'),
    groups: several('group', 'Groups'),
    tags: several('tag', 'Tags'),
    devices: several('device', 'Devices'),
    user: one('user'),
    group: one('group'),
    tag: one('tag'),
    device: one('device'),
    any: optional(Type.Boolean({ description: 'true: every device of the tenant' })),
  },
  {
    description:
      'Selects a device if any one of these fields names the device, its user, one of its groups or one of its tags. ' +
      'Write each kind in one form: a list (`users`) or one text (`user`). The server stores lists.',
  },
)

export const DocumentGroup = Closed(
  {
    users: several('user', 'Users'),
    groups: several('group', 'Groups'),
    user: one('user'),
    group: one('group'),
  },
  {
    description:
      'A group of this document. Its members are users, directory groups and other groups of this document. ' +
      'Groups must not contain each other in a cycle.',
  },
)

/** In a test: `most` entries at most, because a device has one user and one id. */
const listed = (word: SubjectWord, most: number, description: string) => {
  const { pattern, maxLength } = subject[word]
  return optional(
    Type.Array(Type.String({ minLength: 1, maxLength, pattern }), {
      minItems: 1,
      maxItems: most,
      uniqueItems: true,
      description,
    }),
  )
}

/** The subjects of a test, in both forms. */
export const testSubjects = {
  user: one('user', 'User of the device. The device is in all directory groups of this user.'),
  group: one('group', 'The same as `groups` with one entry'),
  tag: one('tag', 'The same as `tags` with one entry'),
  device: one('device', 'The device_id. The test does not look up the user, the groups or the tags of the device.'),
  users: listed('user', 1, 'The same as `user`: a list of one'),
  groups: listed('group', 64, 'Groups of the device. It is in all of them.'),
  tags: listed('tag', 64, 'Tags of the device. It has all of them.'),
  devices: listed('device', 1, 'The same as `device`: a list of one'),
}
