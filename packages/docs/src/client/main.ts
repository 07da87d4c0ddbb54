// Runs in the browser on each page: the search field, and its key.
type Search = typeof import('./search.ts')

const form = document.querySelector<HTMLFormElement>('form.search')!
const field = form.querySelector<HTMLInputElement>('input')!

/** Loads the search when it is first used. */
let loading: Promise<Search> | undefined
const load = () => {
  loading ??= import('./search.ts').catch((e: unknown) => {
    loading = undefined
    throw e
  })
  return loading
}

// Without a script the search can't work, so the page hides it.
form.hidden = false
form.addEventListener('submit', (event) => event.preventDefault())
for (const event of ['focus', 'input'] as const)
  field.addEventListener(event, () =>
    load().then(
      ({ attach }) => attach(form, field),
      () => {
        form.querySelector('[role=status]')!.textContent = 'The search could not be loaded. Load the page again.'
      },
    ),
  )

document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select')
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  field.focus()
  field.select()
})

// The page in sight, in a list that may be longer than the window.
const current = document.querySelector<HTMLElement>('#nav [aria-current]')
const list = document.querySelector<HTMLElement>('#nav')!
if (current && current.offsetTop > list.clientHeight / 2) list.scrollTop = current.offsetTop - list.clientHeight / 2
