import { classes } from './classes.ts'

/** Paths of all icons, drawn on a grid of 24 with a stroke of 1.75. */
const paths = {
  home: 'M3 10.5 12 3l9 7.5V20a1 1 0 0 1-1 1h-5v-6h-6v6H4a1 1 0 0 1-1-1z',
  fleet: 'M4 5h16v11H4zM2 20h20M9 16v4M15 16v4',
  people:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM2.5 20c.4-3.4 3-5.5 6.500-5.500s6.100 2.100 6.500 5.500M16 4.300a3.500 3.500 0 0 1 0 6.400M18 14.800c2 .7 3.200 2.500 3.500 5.200',
  policy: 'M12 2.500 4 5.500v6c0 5 3.400 8.600 8 10 4.600-1.400 8-5 8-10v-6zM8.500 12l2.500 2.500 4.500-5',
  gateway: 'M3 4h18v6H3zM3 14h18v6H3zM7 7h.01M7 17h.01M11 7h6M11 17h6',
  audit: 'M5 3h14v18l-3.500-2-3.500 2-3.500-2L5 21zM9 8h6M9 12h6',
  admin: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 4.500v5M9 14.500v5',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM20 20l-4-4',
  bell: 'M6 16V10a6 6 0 0 1 12 0v6l1.500 2h-15zM10 21h4',
  help: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM9.500 9.500a2.500 2.500 0 1 1 3.500 2.300c-.7.4-1 .9-1 1.700M12 17h.01',
  theme: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 3v18M12 7l5.500-3M12 12h9M12 17l5.500 2.500',
  down: 'm6 9 6 6 6-6',
  right: 'm9 6 6 6-6 6',
  left: 'm15 6-6 6 6 6',
  up: 'm6 15 6-6 6 6',
  updown: 'm8 9 4-4 4 4M8 15l4 4 4-4',
  x: 'M6 6l12 12M18 6 6 18',
  plus: 'M12 5v14M5 12h14',
  check: 'm5 12.500 4.500 4.500L19 7',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  filter: 'M4 6h16M7 12h10M10 18h4',
  columns: 'M4 4h16v16H4zM10 4v16M15 4v16',
  download: 'M12 4v11M7.500 10.500 12 15l4.500-4.500M4 20h16',
  refresh: 'M20 11a8 8 0 1 0-.7 4.500M20 5v6h-6',
  arrow: 'M5 12h14M13 6l6 6-6 6',
  ext: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  lock: 'M5 11h14v10H5zM8 11V7.500a4 4 0 0 1 8 0V11',
  key: 'M8 20a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM11 13l9-9M16 8l3 3',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 7v5l3.500 2',
  warn: 'M12 4 2.500 20h19zM12 10v4.500M12 17.300h.01',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 11v5.500M12 7.700h.01',
  bad: 'M8 3h8l5 5v8l-5 5H8l-5-5V8zM12 8v5M12 16.300h.01',
  laptop: 'M5 5h14v10H5zM2 19h20',
  phone: 'M7 2.500h10v19H7zM11 18.500h2',
  server: 'M4 4h16v7H4zM4 13h16v7H4zM8 7.500h.01M8 16.500h.01',
  play: 'M7 4.500v15l12-7.500z',
  stop: 'M6 6h12v12H6z',
  pause: 'M8 5v14M16 5v14',
  undo: 'M9 14 4 9l5-5M4 9h9a7 7 0 0 1 0 14h-3',
  eye: 'M2 12s3.500-7 10-7 10 7 10 7-3.500 7-10 7-10-7-10-7ZM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6Z',
  term: 'm5 7 5 5-5 5M12 18h7',
  menu: 'M4 7h16M4 12h16M4 17h16',
  link: 'M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-6-6l-1.500 1.500M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 6 6l1.500-1.500',
  user: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4 21c.5-4 3.700-6.500 8-6.500s7.500 2.500 8 6.500',
  drag: 'M9 6h.01M15 6h.01M9 12h.01M15 12h.01M9 18h.01M15 18h.01',
  edit: 'M4 20l1-4L16 5l3 3L8 19zM14 7l3 3',
  ban: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM6 6l12 12',
  bolt: 'M13 3 5 14h6l-1 7 8-11h-6z',
  cert: 'M4 4h16v11H4zM8 8h8M8 11h4M15 13v8l2-1.500 2 1.500v-8',
  out: 'M10 4H4v16h6M9 12h11M16 8l4 4-4 4',
  globe:
    'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM3 12h18M12 3c3 3 3.500 6 3.500 9S15 18 12 21c-3-3-3.500-6-3.500-9S9 6 12 3Z',
  rows: 'M4 6h16M4 12h16M4 18h16',
  offline:
    'M3 3l18 18M5 12.500a10 10 0 0 1 4-2.300M2 8.800a15 15 0 0 1 4.500-2.800M12 19h.01M15 10.200a10 10 0 0 1 4 2.300M10 5.200a15 15 0 0 1 12 3.600M8.500 16a5 5 0 0 1 5-1.200',
  branch: 'M6 4v16M6 9a6 6 0 0 0 12-1V6M18 6a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z',
} as const
export type IconName = keyof typeof paths

type IconProps = {
  name: IconName
  /** `s` is 14 px; the default is 16 px. */
  size?: 's' | undefined
  className?: string | undefined
}

/**
 * Icon. The word beside it has the same meaning, so assistive technology ignores the icon.
 *
 * @example <Icon name="copy" size="s" />
 */
export function Icon({ name, size, className }: IconProps) {
  return (
    <svg className={classes('i', size, className)} viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  )
}
