// A table of any number of rows, of which only those in view exist: they are asked for
// page by page as the reader scrolls.

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { html } from './html.js'
import { Trouble } from './parts.js'

const pageSize = 500 // rows asked for at once
const ahead = 2 // pages kept ready on both sides of the view
const kept = 200 // pages remembered
const overscan = 12 // rows drawn on both sides of the view
const tallest = 8_000_000 // pixels that every browser can scroll

const narrow = matchMedia('(max-width: 639px)')

/** Pages of rows of one source, asked for when they are wanted: at most three at a time, the nearest first. */
class Pages {
  constructor(load, changed) {
    Object.assign(this, { load, changed, pages: new Map(), asked: new Map(), wanted: [], total: null, problem: null })
  }

  row(i) {
    return this.pages.get(Math.floor(i / pageSize))?.[i % pageSize]
  }

  /** Says which rows are in view. */
  want(first, last) {
    if (this.problem) return
    const from = Math.floor(first / pageSize)
    const to = Math.floor(Math.max(first, last - 1) / pageSize)
    const end = this.total === null ? 0 : Math.max(0, Math.ceil(this.total / pageSize) - 1)
    const wanted = []
    for (let p = from; p <= to; p++) wanted.push(p)
    for (let d = 1; d <= ahead; d++) wanted.push(to + d, from - d)
    this.wanted = wanted.filter((p) => p >= 0 && p <= end)
    for (const [p, abort] of this.asked) if (!this.wanted.includes(p)) abort.abort()
    this.ask()
  }

  async ask() {
    const page = this.wanted.find((p) => !this.pages.has(p) && !this.asked.has(p))
    if (page === undefined || this.asked.size >= 3) return
    const abort = new AbortController()
    this.asked.set(page, abort)
    this.ask()
    try {
      const { rows, total } = await this.load(page * pageSize, pageSize, abort.signal)
      this.total = total
      this.pages.set(page, rows)
      if (this.pages.size > kept) this.pages.delete([...this.pages.keys()].find((p) => !this.wanted.includes(p)))
    } catch (problem) {
      if (problem.name !== 'AbortError') this.problem = problem
    } finally {
      this.asked.delete(page)
    }
    if (this.closed) return
    this.changed()
    if (!this.problem) this.ask()
  }

  close() {
    this.closed = true
    this.wanted = []
    for (const abort of this.asked.values()) abort.abort()
  }
}

/**
 * A table that loads what is scrolled to.
 *
 * columns are {id, head, of(row), width, number, sort}: width is one of a CSS grid, sort
 * says that the column can be sorted by; sorted is {by, order} and onSort gets both anew.
 * load(skip, size, signal) gives {rows, total}; source names what it loads, and another
 * name starts anew. On narrow screens a row is a card: its first column above, the others
 * below it with their heads.
 */
export function VirtualTable({ label, columns, source, load, sorted, onSort, onTotal, empty, height = 560 }) {
  const view = useRef(null)
  const pages = useRef(null)
  const [, turn] = useState(0)
  const [place, setPlace] = useState({ top: 0, height })
  const [cards, setCards] = useState(narrow.matches)
  const rowHeight = cards ? 64 : 34

  useEffect(() => {
    const changed = () => setCards(narrow.matches)
    narrow.addEventListener('change', changed)
    return () => narrow.removeEventListener('change', changed)
  }, [])

  const start = useCallback(() => {
    pages.current?.close()
    pages.current = new Pages(load, () => turn((n) => n + 1))
    if (view.current) view.current.scrollTop = 0
    setPlace((p) => ({ ...p, top: 0 }))
    pages.current.want(0, 1)
    turn((n) => n + 1)
  }, [source])

  useLayoutEffect(() => {
    start()
    return () => pages.current.close()
  }, [start])

  useLayoutEffect(() => {
    const measured = new ResizeObserver(() => setPlace((p) => ({ ...p, height: view.current.clientHeight })))
    measured.observe(view.current)
    return () => measured.disconnect()
  }, [])

  const { total = null, problem = null } = pages.current ?? {}
  const full = (total ?? 0) * rowHeight
  const tall = Math.min(full, tallest)
  // Where the whole is too tall to scroll, the bar stands for it in proportion.
  const offset = tall > place.height ? (place.top / (tall - place.height)) * (full - place.height) : 0
  const first = Math.max(0, Math.floor(offset / rowHeight) - overscan)
  const last = Math.min(total ?? 0, Math.ceil((offset + place.height) / rowHeight) + overscan)

  useEffect(() => { if (total !== null) pages.current.want(first, last) }, [first, last, total])
  useEffect(() => { if (total !== null) onTotal?.(total) }, [total])

  const sort = (c) => onSort?.(c.id, sorted.by === c.id ? (sorted.order === 'asc' ? 'desc' : 'asc') : c.sort)
  const rows = []
  for (let i = first; i < last; i++) rows.push(html`<${Row} key=${i} index=${i} row=${pages.current.row(i)} columns=${columns} />`)

  return html`<div class="vtable ${cards ? 'cards' : ''}" role="table" aria-label=${label} aria-rowcount=${total === null ? -1 : total + 1} aria-busy=${total === null && !problem}
    style=${{ '--columns': columns.map((c) => c.width ?? '1fr').join(' ') }}>
    <div role="rowgroup" class="vtable-head"><div role="row" aria-rowindex="1" class="vrow">
      ${columns.map((c) => html`<div role="columnheader" key=${c.id} class=${c.number ? 'number' : ''} aria-sort=${sorted?.by === c.id ? (sorted.order === 'asc' ? 'ascending' : 'descending') : c.sort ? 'none' : undefined}>
        ${c.sort ? html`<button type="button" class="sort" onClick=${() => sort(c)}>${c.head}<span aria-hidden="true" class="arrow">${sorted?.by === c.id ? (sorted.order === 'asc' ? '▲' : '▼') : ''}</span></button>` : c.head}</div>`)}
    </div></div>
    ${problem && html`<div role="row"><div role="cell"><${Trouble} problem=${problem} retry=${start} /></div></div>`}
    ${!problem && total === 0 && html`<div role="row"><div role="cell">${empty}</div></div>`}
    <div ref=${view} class="vtable-view" role="rowgroup" tabindex="0" aria-label="${label}, rows" hidden=${problem !== null || total === 0}
      style=${{ height: `${Math.min(height, Math.max(full, rowHeight * 3))}px`, '--row': `${rowHeight}px` }} onScroll=${(e) => setPlace({ top: e.currentTarget.scrollTop, height: e.currentTarget.clientHeight })}>
      <div class="vtable-all" role="presentation" style=${{ height: `${tall}px` }}>
        <div class="vtable-rows" role="presentation" style=${{ transform: `translateY(${place.top + first * rowHeight - offset}px)` }}>${rows}</div>
      </div>
      ${total === null && html`<div class="loading" role="presentation" aria-hidden="true">${[0, 1, 2].map((i) => html`<div class="skeleton" key=${i}></div>`)}</div>`}
    </div>
  </div>`
}

function Row({ index, row, columns }) {
  return html`<div role="row" aria-rowindex=${index + 2} class="vrow ${row === undefined ? 'blank' : ''}">
    ${columns.map((c) => html`<div role="cell" key=${c.id} class="${c.number ? 'number' : ''} col-${c.id}" data-head=${c.head}>${row === undefined ? html`<span class="skeleton"></span>` : c.of(row)}</div>`)}
  </div>`
}
