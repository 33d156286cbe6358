// The parts that views are made of.

import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { asProblem, idempotencyKey, passing, Problem, wasAborted } from './api.js'
import { absolute, clock, count, counted, relative } from './format.js'
import { html } from './html.js'
import { setQuery } from './route.js'
import { explained, meaning } from './terms.js'
import { Topic } from './topic.js'
import { statusWords } from './words.js'

/**
 * A panel with a heading, and what stands beside it.
 *
 * @param {{ title: Children, aside?: Children, class?: string, children?: Children }} props
 */
export function Card({ title, aside, class: more = '', children }) {
  const id = useId()
  return html`<section class="card ${more}" aria-labelledby=${id}>
    <header class="row card-head">
      <h2 id=${id}>${title}</h2>
      ${aside && html`<div class="row card-aside">${aside}</div>`}
    </header>
    ${children}
  </section>`
}

/**
 * Figures in a row.
 *
 * @param {(Stat | false | null | undefined | '')[]} items
 */
export const stats = (items) =>
  html`<dl class="stats">
    ${items.filter(Boolean).map(
      ({ label, value, note, tone }) => html`
        <div class="stat ${tone ?? ''}" key=${label}>
          <dt>${explained(label)}</dt>
          <dd><span class="stat-value">${value}</span>${note && html`<span class="stat-note">${note}</span>`}</dd>
        </div>
      `,
    )}
  </dl>`

/** @param {{ status: string }} props */
export function Status({ status }) {
  return html`<span class="status status-${status}">${statusWords[status] ?? status}</span>`
}

/** @type {Topic<[now: number]>} */
const ticks = new Topic()
setInterval(() => {
  if (!document.hidden) ticks.tell(clock())
}, 5_000)

/**
 * A time, relative and absolute.
 *
 * @param {{ at: string | number | null | undefined, brief?: boolean }} props
 */
export function Time({ at, brief = false }) {
  const [moment, tick] = useState(clock())
  useEffect(() => ticks.listen(tick), [])
  if (!at) return html`<span>–</span>`
  const date = new Date(at)
  const full = absolute(date, moment)
  return html`<time datetime=${date.toISOString()} title=${date.toString()}>
    ${relative(date, moment)}
    ${!brief && html`<span class="absolute"> · ${full}</span>`}
  </time>`
}

/**
 * Says what the page is called.
 *
 * @param {string} title
 */
export const useTitle = (title) =>
  useEffect(() => {
    document.title = title
  }, [title])

/**
 * The time, renewed every so many milliseconds.
 *
 * @param {number} ms
 */
export function useNow(ms) {
  const [moment, tick] = useState(clock())
  useEffect(() => {
    const timer = setInterval(() => tick(clock()), ms)
    return () => clearInterval(timer)
  }, [])
  return moment
}

/**
 * What stands where nothing is yet.
 *
 * @param {{ title: Children, children?: Children }} props
 */
export function Empty({ title, children }) {
  return html`<div class="empty"><p class="empty-title">${title}</p>${children}</div>`
}

/**
 * Grey shapes where rows will be.
 *
 * @param {{ rows?: number }} props
 */
export function Loading({ rows = 4 }) {
  return html`<div class="loading" role="status">
    <span class="visually-hidden">Loading…</span>
    ${Array.from({ length: rows }, (_, i) => html`<div class="skeleton" key=${i} aria-hidden="true"></div>`)}
  </div>`
}

/** @type {Record<number, string>} */
const advice = {
  401: 'Sign in with a token that this server knows.',
  403: 'Another token may do this: sign out, and in again with one that has the role.',
  410: 'Retention removes what is older than the configuration keeps.',
  429: 'Other requests hold the memory that this one needs.',
}

/** @type {Record<number, string>} */
const titles = { 0: 'No answer from the server', 401: 'A token is needed', 404: 'There is nothing here' }

/**
 * What went wrong, and what helps. itself says that what may pass is asked for again without the visitor.
 *
 * @param {{ problem: Problem, retry?: () => unknown, itself?: boolean }} props
 */
export function Trouble({ problem, retry, itself = true }) {
  const { status, title, detail, code, errors = [], requestID } = problem
  return html`<div class="trouble" role="alert">
    <p class="trouble-title">${titles[status] ?? title}</p>
    ${status !== 0 && status !== 401 && html`<p>${detail}</p>`}
    ${
      errors.length > 0 &&
      html`<ul>
        ${errors.slice(0, 10).map(
          (e, i) =>
            html`<li key=${i}>
              ${(e.pointer ?? e.parameter) && html`<code>${e.pointer ?? e.parameter}</code>${' '}`}
              ${e.detail}
            </li>`,
        )}
        ${errors.length > 10 && html`<li>… and ${errors.length - 10} more</li>`}
      </ul>`
    }
    ${advice[status] && html`<p>${advice[status]}</p>`}
    ${itself && passing(problem) && html`<p>The page tries again by itself.</p>`}
    ${
      status >= 500 &&
      status !== 503 &&
      requestID &&
      html`<p>The server's log has more about the request <code>${requestID}</code>.</p>`
    }
    <p class="row trouble-foot">
      ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}
      ${status !== 0 && html`<span class="muted">${status}${code && ` · ${code}`}</span>`}
    </p>
  </div>`
}

/**
 * A watched resource on its way: what loads, what is wrong, or what render makes of the
 * data. Data that could not be renewed is shown, and that it is old.
 *
 * @template T
 * @param {Pick<Watched<T>, 'data' | 'problem' | 'reload' | 'at'>} of
 * @param {(data: T) => Children} render
 * @param {number} [rows] that it likely has
 */
export function loaded({ data, problem, reload, at }, render, rows) {
  if (data === null)
    return problem ? html`<${Trouble} problem=${problem} retry=${reload} />` : html`<${Loading} rows=${rows} />`
  const why = problem?.status === 0 ? 'the server does not answer' : problem?.message.replace(/\.$/, '')
  return html`
    ${
      problem &&
      html`<p class="stale">
        <span role="status">Not renewed: ${why}.</span>${' '}What is shown is from <${Time} at=${at} />.
      </p>`
    }
    ${render(data)}
  `
}

/** @type {Topic<[text: string]>} */
const news = new Topic()

/**
 * Says something to everybody: shown for a while, and read out.
 *
 * @param {string} text
 */
export const announce = (text) => news.tell(text)

export function Announcements() {
  const [text, setText] = useState('')
  useEffect(() => {
    let timer = 0
    return news.listen((words) => {
      setText(words)
      clearTimeout(timer)
      timer = setTimeout(() => setText(''), 6_000)
    })
  }, [])
  return html`<div class="announcements" role="status" aria-live="polite">${text && html`<p>${text}</p>`}</div>`
}

/**
 * Copies text; where the browser does not let it, selects it in place.
 *
 * @param {{ text: string | (() => string), label?: string, done?: string, from?: { current: HTMLElement |
 *   null } }} props
 */
export function CopyButton({ text, label = 'Copy', done = 'Copied', from }) {
  const copy = async () => {
    const words = typeof text === 'function' ? text() : text
    try {
      await navigator.clipboard.writeText(words)
      announce(`${done}.`)
    } catch {
      if (from?.current) {
        getSelection()?.selectAllChildren(from.current)
        announce('Selected: copy it with Ctrl+C.')
      } else {
        announce('The browser does not allow copying here.')
      }
    }
  }
  return html`<button type="button" onClick=${copy}>${label}</button>`
}

/**
 * Code with a button that copies it.
 *
 * @param {{ text: string, label?: string }} props
 */
export function Code({ text, label = 'Command' }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null))
  return html`<div class="code">
    <pre tabindex="0" role="group" aria-label=${label}><code ref=${place}>${text}</code></pre>
    <${CopyButton} text=${text} from=${place} />
  </div>`
}

/**
 * A modal dialog. It begins at the first field of its form, if it has one. onClose is
 * called when it was left by Esc or its button.
 *
 * @param {{ title: Children, onClose: () => void, children?: Children }} props
 */
export function Dialog({ title, onClose, children }) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null))
  const id = useId()
  useLayoutEffect(() => {
    const dialog = element.current
    if (!dialog) return undefined
    dialog.showModal()
    /** @type {HTMLElement | null} */
    const field = dialog.querySelector('form :is(input, textarea, select)')
    field?.focus()
    return () => dialog.close()
  }, [])
  return html`<dialog
    ref=${element}
    aria-labelledby=${id}
    onCancel=${(e) => {
      e.preventDefault()
      onClose()
    }}
  >
    <header class="row card-head">
      <h2 id=${id}>${title}</h2>
      <button type="button" class="quiet" aria-label="Close" onClick=${onClose}>✕</button>
    </header>
    ${children}
  </dialog>`
}

/** @typedef {{ busy: boolean, problem: Problem | null }} Sending */

/**
 * What a form sends: {send, busy, problem, clear}. action is given what send is, and a name
 * for the request that stays the same until it succeeded, so that a second try does not
 * do it twice.
 *
 * @template {unknown[]} A
 * @template R
 * @param {(key: string, ...args: A) => Promise<R>} action
 */
export function useSend(action) {
  const [state, setState] = useState(/** @type {Sending} */ ({ busy: false, problem: null }))
  const key = useRef(idempotencyKey())
  /** @param {A} args */
  const send = async (...args) => {
    setState({ busy: true, problem: null })
    try {
      const out = await action(key.current, ...args)
      key.current = idempotencyKey()
      setState({ busy: false, problem: null })
      return out
    } catch (problem) {
      setState({ busy: false, problem: wasAborted(problem) ? null : asProblem(problem) })
      if (!(problem instanceof Problem) && !wasAborted(problem)) throw problem
      return undefined
    }
  }
  return { ...state, send, clear: () => setState({ busy: false, problem: null }) }
}

/**
 * A labelled field; children is the control, which gets the id.
 *
 * @param {{ label: Children, hint?: Children, children: (id: string) => Children }} props
 */
export function Field({ label, hint, children }) {
  const id = useId()
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${children(id)}
    ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
  </div>`
}

/**
 * A control that chooses one of options, each its value and its words.
 *
 * @param {{ value: string | number, options: any[][],
 *   onChange: (value: string) => void, [attribute: string]: unknown }} props
 */
export const Select = ({ options, onChange, ...more }) =>
  html`<select ...${more} onChange=${(e) => onChange(e.currentTarget.value)}>
    ${options.map(([value, words]) => html`<option value=${value} key=${value}>${words}</option>`)}
  </select>`

/** @typedef {any[][]} Options */

/**
 * The same beside its label, which may be hidden from view; after stands behind it.
 *
 * @param {string} label
 * @param {string | number} value
 * @param {Options} options
 * @param {(value: string) => void} onChange
 * @param {{ hidden?: boolean, after?: string }} [more]
 */
export const choose = (label, value, options, onChange, { hidden, after } = {}) =>
  html`<label class="choose">
    <span class=${hidden ? 'visually-hidden' : ''}>${label}</span>
    <${Select} value=${value} options=${options} onChange=${onChange} /> ${after}
  </label>`

/**
 * The same as a field.
 *
 * @param {string} label
 * @param {string | number} value
 * @param {Options} options
 * @param {(value: string) => void} onChange
 * @param {{ hint?: Children, key?: string, [attribute: string]: unknown }} [more]
 */
export const selectField = (label, value, options, onChange, { hint, key, ...more } = {}) =>
  html`<${Field} label=${label} hint=${hint} key=${key}>
    ${(id) => html`<${Select} ...${{ id, value, options, onChange, ...more }} />`}
  <//>`

/**
 * A button that opens a file.
 *
 * @param {{ accept: string, onFile: (file: File) => unknown, children?: Children }} props
 */
export function FileButton({ accept, onFile, children }) {
  const input = useRef(/** @type {HTMLInputElement | null} */ (null))
  return html`
    <input
      ref=${input}
      type="file"
      accept=${accept}
      class="visually-hidden"
      tabindex="-1"
      aria-label=${children}
      onChange=${(e) => {
        const [file] = e.currentTarget.files
        e.currentTarget.value = ''
        if (file) onFile(file)
      }}
    />
    <button type="button" onClick=${() => input.current?.click()}>${children}</button>
  `
}

/**
 * Takes files that are dropped anywhere on the page; tells whether one is above it.
 *
 * @param {(file: File) => unknown} take
 */
export function useDrop(take) {
  const [over, setOver] = useState(false)
  const latest = useRef(take)
  latest.current = take
  useEffect(() => {
    const dragged = new AbortController()
    /** @param {DragEvent} e */
    const dragging = (e) => {
      if (e.type === 'dragleave' && e.relatedTarget === null) setOver(false)
      if (e.type === 'dragleave' || !e.dataTransfer?.types.includes('Files')) return
      e.preventDefault()
      setOver(e.type === 'dragover')
      if (e.type === 'drop') latest.current(e.dataTransfer.files[0])
    }
    for (const type of /** @type {const} */ (['dragover', 'dragleave', 'drop']))
      addEventListener(type, dragging, { signal: dragged.signal })
    return () => dragged.abort()
  }, [])
  return over
}

/**
 * A box that is checked or not, or with another type a button of which one is, before its label.
 *
 * @param {boolean} checked
 * @param {(checked: boolean) => void} onChange
 * @param {Children} words
 * @param {{ key?: string, [attribute: string]: unknown }} [more]
 */
export const check = (checked, onChange, words, { key, ...more } = {}) =>
  html`<label class="check" key=${key}>
    <input
      type="checkbox"
      checked=${checked}
      onChange=${(/** @type {any} */ e) => onChange(e.currentTarget.checked)}
      ...${more}
    />
    ${words}
  </label>`

/**
 * Boxes for all of some values, each with its words. onChange is given those that then are chosen, in their order.
 *
 * @param {{ of: [value: string, words: Children, title?: string][], chosen: string[],
 *   onChange: (chosen: string[]) => void }} props
 */
export const Checks = ({ of, chosen, onChange }) =>
  of.map(([value, words, title]) =>
    check(
      chosen.includes(value),
      (on) => onChange(of.map(([v]) => v).filter((v) => (v === value ? on : chosen.includes(v)))),
      html`<span title=${title}>${words}</span>`,
      { key: value },
    ),
  )

/**
 * Links of which one is here.
 *
 * @param {string} label
 * @param {([text: string, href: string, here: boolean] | false)[]} items
 */
export const tabs = (label, items) =>
  html`<nav class="tabs" aria-label=${label}>
    <ul>
      ${items
        .filter(Boolean)
        .map(
          ([text, href, here]) =>
            html`<li key=${href}><a href=${href} aria-current=${here ? 'page' : undefined}>${text}</a></li>`,
        )}
    </ul>
  </nav>`

/** @param {Children} head */
const headText = (head) => (typeof head === 'string' ? head : undefined)

/**
 * A small table. Rows must be few. frame are attributes of what is around it, row those of each row. A table that
 * sorts, by the column of a name, is told so by the address, and rows have that order already.
 *
 * @template T
 * @param {string} caption
 * @param {T[]} rows
 * @param {(Column<T> | false)[]} columns
 * @param {{ frame?: Record<string, unknown>, row?: (row: T, i: number) => Record<string, unknown>,
 *   sort?: { by: string | undefined, direction: string | undefined } }} [more]
 */
export function plainTable(caption, rows, columns, { frame: { class: look, ...frame } = {}, row, sort } = {}) {
  const shown = columns.filter((c) => c !== false)
  return html`<div class="table-scroll ${look ?? ''}" tabindex="0" role="region" aria-label=${caption} ...${frame}>
    <table role="table">
      <caption class="visually-hidden">${caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          ${shown.map(([head, , kind, id], i) =>
            sort && id
              ? html`<${SortHead} key=${id} id=${id} head=${head} kind=${kind} ...${sort} />`
              : html`<th scope="col" role="columnheader" class=${kind || ''} key=${i}>${explained(head)}</th>`,
          )}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          (of, i) =>
            html`<tr role="row" key=${i} ...${row?.(of, i)}>
              ${shown.map(([head, cell, kind], c) =>
                kind === 'row'
                  ? html`<th role="rowheader" scope="row" key=${c}>${cell(of)}</th>`
                  : html`<td
                      role="cell"
                      class=${kind || ''}
                      data-head=${headText(head)}
                      title=${meaning(head)}
                      key=${c}
                    >
                      ${cell(of)}
                    </td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}

/**
 * That a list has only the first of all.
 *
 * @param {number} shown
 * @param {number} all
 * @param {string} one
 * @param {string} [order] after a comma
 */
export const firstOnly = (shown, all, one, order) =>
  shown < all && html`<p class="hint">The first ${count(shown)} of ${counted(all, one)}${order && `, ${order}`}.</p>`

/**
 * The first rows, as render draws them, and a button for more.
 *
 * @param {{ of: any[], step: number, render: (rows: any[]) => Children }} props
 */
export function FirstOf({ of, step, render }) {
  const [most, show] = useState(step)
  return html`
    ${render(of.slice(0, most))}
    ${
      most < of.length &&
      html`<p>
        <button type="button" onClick=${() => show(most + 5 * step)}>Show more of ${count(of.length)}</button>
      </p>`
    }
  `
}

/**
 * The data of a chart as it is told to those who do not see it.
 *
 * @template T
 * @param {T[]} rows
 * @param {(Column<T> | false)[]} columns
 * @returns {{ rows: any[], columns: (Column | false)[] }}
 */
export const dataOf = (rows, columns) => ({ rows, columns })

/**
 * The head of a column that sorts its table: the address says by which one (rank), and whether it descends (ranked).
 *
 * @param {{ id: string, head: Children, kind?: string | false, by: string | undefined, direction?: string }} props
 */
function SortHead({ id, head, kind, by, direction }) {
  const sortedBy = by === id
  return html`<th
    scope="col"
    role="columnheader"
    class=${kind || ''}
    aria-sort=${sortedBy ? (direction === 'desc' ? 'descending' : 'ascending') : 'none'}
  >
    <button
      type="button"
      class="sort"
      onClick=${() => setQuery({ rank: id, ranked: sortedBy && direction !== 'desc' ? 'desc' : null })}
    >
      ${explained(head)}
      <span aria-hidden="true" class="arrow">${sortedBy ? (direction === 'desc' ? '▼' : '▲') : ''}</span>
    </button>
  </th>`
}

/**
 * That a row is on the front of its table, in words for those who do not see the mark.
 *
 * @param {string} words
 */
export const paretoMark = (words) =>
  html`<span aria-hidden="true">●</span><span class="visually-hidden">${words}</span>`

/**
 * A table that the address sorts: rank names the column, ranked says whether it descends. Rows whose value is null
 * stand last.
 *
 * @template T
 * @param {string} caption
 * @param {T[]} rows
 * @param {Sortable<T>[]} columns
 * @param {{ rank?: string, ranked?: string }} query
 * @param {Parameters<typeof plainTable<T>>[3]} more
 */
export function sortedTable(caption, rows, columns, { rank, ranked }, more) {
  const by = columns.find((c) => c.id === rank)
  const sign = ranked === 'desc' ? -1 : 1
  const inOrder = by
    ? rows.toSorted((a, b) => {
        const [x, y] = [by.of(a), by.of(b)]
        if (x === null || y === null) return Number(x === null) - Number(y === null)
        return sign * (x < y ? -1 : x > y ? 1 : 0)
      })
    : rows
  return plainTable(
    caption,
    inOrder,
    columns.map(({ id, head, of, cell, show, kind = 'number nowrap' }) => [
      head,
      show ?? ((row) => cell?.(of(row))),
      kind,
      id,
    ]),
    { ...more, sort: { by: by?.id, direction: ranked } },
  )
}
