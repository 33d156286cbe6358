// A table of any number of rows, of which only those in view exist.

import { exactly } from './format.js'
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from './html.js'
import { held, Pages } from './pages.js'
import { Trouble } from './parts.js'
import { explained } from './terms.js'
import { useTurns } from './topic.js'
import { Track } from './track.js'

const ahead = 48 // rows drawn beyond the view in the direction of scrolling
const behind = 12 // rows drawn on its other side
const guard = 24 // rows that are left ahead when more are drawn: browsers scroll before they tell
const least = 3 // rows that there is always room for
const step = 50 // cards at first

const usualHeight = 34 // pixels of a row

const narrow = matchMedia('(max-width: 639px)')

function useNarrow() {
  const [is, set] = useState(narrow.matches)
  useEffect(() => {
    const changed = () => set(narrow.matches)
    narrow.addEventListener('change', changed)
    return () => narrow.removeEventListener('change', changed)
  }, [])
  return is
}

/**
 * A column of a name, its head, its width and what it makes of a row.
 *
 * @template [T=any]
 * @param {string} id
 * @param {Children} head
 * @param {string} width
 * @param {(row: T) => Children} of
 * @param {Partial<TableColumn<T>>} [more]
 * @returns {TableColumn<T>}
 */
export const column = (id, head, width, of, more) => ({ id, head, width, of, ...more })

/**
 * @template T
 * @typedef {ReturnType<typeof held<T>>} Rows
 */

const none = async () => ({ rows: [], total: 0 })

/**
 * The rows of a source, and whether they are still those of the source before: they stay
 * until the first of the new ones are there, so that nothing jumps in between.
 * @template T
 * @param {{ source?: string, load?: Load<T>, rows?: T[], onNew: () => void }} props
 */
function useRows({ source, load, rows, onNew }) {
  const [, turn] = useTurns()
  const [tries, again] = useTurns()
  const shown = useRef(/** @type {Rows<T> | null} */ (null))
  const next = useRef(/** @type {Rows<T> | null} */ (null))
  const begun = useRef(/** @type {string | undefined} */ (undefined))
  useLayoutEffect(() => {
    const arrived = () => {
      if (next.current !== fresh) return
      if (shown.current !== fresh && (fresh.total !== null || fresh.problem)) {
        shown.current = fresh
        // Rows that are renewed do not take the reader away from where he is.
        if (!rows || source === undefined || source !== begun.current) onNew()
        begun.current = source
      }
      turn()
    }
    const fresh = rows ? held(rows) : new Pages(load ?? none, arrived)
    next.current = fresh
    fresh.want(0, 1)
    arrived()
    return () => fresh.close()
  }, [source, rows, tries])
  const { total = null, problem = null } = shown.current ?? {}
  return { of: shown.current, total, problem, busy: shown.current !== next.current || shown.current === null, again }
}

/**
 * A table that loads what is scrolled to.
 *
 * columns is the same array as long as they are the same; onSort gets by and order anew.
 * The rows are rows, or load gives them; source names what is shown, and another name
 * starts anew. keyOf names a row, by default its place does. There is room for as many
 * rows as room says, by default for those that there are. On narrow screens a row is a card, cardHeight high: its first
 * column above, the others below it with their heads, unless they are bare.
 *
 * @template T
 * @param {object} props
 * @param {string} props.label
 * @param {TableColumn<T>[]} props.columns
 * @param {string} [props.source]
 * @param {Load<T>} [props.load]
 * @param {T[]} [props.rows]
 * @param {number} [props.room]
 * @param {Sorted} [props.sorted]
 * @param {(by: string, order: 'asc' | 'desc') => void} [props.onSort]
 * @param {(total: number) => void} [props.onTotal]
 * @param {Children} [props.empty]
 * @param {number} [props.height] in pixels
 * @param {number} [props.rowHeight] in pixels
 * @param {number} [props.cardHeight] in pixels
 * @param {(row: T) => string} [props.keyOf]
 */
export function VirtualTable({
  label,
  columns,
  source,
  load,
  rows,
  room,
  sorted,
  onSort,
  onTotal,
  empty,
  height = 612,
  rowHeight = usualHeight,
  cardHeight = 64,
  keyOf,
}) {
  const cards = useNarrow()
  const each = cards ? cardHeight : rowHeight
  const port = useViewport(each)
  const { of, total, problem, busy, again } = useRows({ source, load, rows, onNew: port.restart })
  const { listed, more } = useListed(total ?? 0, cards, source)
  const { first, last, shift, tall } = port.lay(listed)
  port.rows = of
  useEffect(() => {
    of?.want(...port.inView())
  })
  useEffect(() => {
    if (total !== null && !busy) onTotal?.(total)
  }, [total, busy, source])

  const drawn = []
  for (let i = first; i < last; i++) {
    const row = /** @type {any} */ (of?.row(i))
    drawn.push(html`<${Row} key=${keyOf?.(row) ?? i} index=${i} row=${row} columns=${columns} />`)
  }
  const failed = problem !== null && total === null
  const high = Math.max(cards ? 0 : (room ?? 0), listed, least) * each

  return html`<div
    class="vtable ${cards ? 'cards' : ''} ${busy ? 'busy' : ''}"
    role="table"
    aria-label=${label}
    aria-rowcount=${total === null ? -1 : total + 1}
    aria-busy=${busy && !problem}
    style=${{
      '--columns': columns.map((c) => c.width ?? '1fr').join(' '),
      '--row': `${each}px`,
      '--bar': `${port.size.bar}px`,
    }}
  >
    <${Head} columns=${columns} sorted=${sorted} onSort=${onSort} />
    ${
      failed &&
      html`<div role="rowgroup">
        <div role="row"><div role="cell"><${Trouble} problem=${problem} retry=${again} /></div></div>
      </div>`
    }
    <div
      class="vtable-place"
      role="presentation"
      hidden=${failed}
      style=${{ height: `${Math.min(cards ? high : height, high)}px` }}
    >
      ${
        total === 0 &&
        html`<div role="rowgroup" class="vtable-none"><div role="row"><div role="cell">${empty}</div></div></div>`
      }
      <div
        ref=${port.element}
        class="vtable-view"
        role="rowgroup"
        tabindex="0"
        aria-label="${label}, rows"
        hidden=${total === 0}
        onScroll=${port.scrolled}
        onScrollEnd=${port.settle}
        onKeyDown=${port.key}
      >
        <div class="vtable-all" role="presentation" style=${{ height: `${total === null ? least * each : tall}px` }}>
          <div class="vtable-rows" role="presentation" style=${{ transform: `translateY(${first * each + shift}px)` }}>
            ${drawn}
          </div>
        </div>
      </div>
      ${
        problem !== null &&
        !failed &&
        html`<div class="row vtable-problem" role="alert">
          <span>Some rows could not be loaded: ${problem.message}</span> <button
            type="button"
            onClick=${() => of instanceof Pages && of.retry()}
          >
            Try again
          </button>
        </div>`
      }
    </div>
  </div>
  ${more}`
}

/**
 * How many rows are listed. Cards scroll with the page and in no view of their own, so that the first ones are.
 *
 * @param {number} total
 * @param {boolean} cards
 * @param {string | undefined} source
 */
function useListed(total, cards, source) {
  const [most, setMost] = useState(step)
  useEffect(() => setMost(step), [source])
  const listed = Math.min(total, cards ? most : Infinity)
  const more =
    listed < total &&
    html`<button type="button" onClick=${() => setMost(most + 4 * step)}>
      Show more: ${exactly(listed)} of ${exactly(total)} are shown
    </button>`
  return { listed, more }
}

/**
 * The view of the rows, each of them so many pixels high: where it is scrolled to, and
 * which rows are drawn for that. lay takes the number of rows while they are drawn.
 *
 * @param {number} each
 */
function useViewport(each) {
  const [, turn] = useTurns()
  const [size, setSize] = useState({ height: 600, bar: 0 })
  const element = useRef(/** @type {HTMLElement | null} */ (null))
  const [port] = useState(() => new Viewport(element, turn))

  useLayoutEffect(() => {
    const { current } = element
    if (!current) return undefined
    const measured = new ResizeObserver(
      () =>
        current.clientHeight > 0 &&
        setSize((old) => {
          const now = { height: current.clientHeight, bar: current.offsetWidth - current.clientWidth }
          return now.height === old.height && now.bar === old.bar ? old : now
        }),
    )
    measured.observe(current)
    return () => measured.disconnect()
  }, [])
  useLayoutEffect(() => port.put())

  port.size = size
  port.each = each
  return port
}

class Viewport {
  track = new Track()
  each = usualHeight
  size = { height: 600, bar: 0 }
  /** @type {{ want: (first: number, last: number) => void } | null} */
  rows = null
  count = 0
  laid = ''
  laidEach = 0
  moved = false
  back = false
  first = 0
  last = 0

  /**
   * @param {{ current: HTMLElement | null }} element
   * @param {() => void} turn
   */
  constructor(element, turn) {
    this.element = element
    this.turn = turn
  }

  /**
   * Lays out count rows: which of them are drawn, and how far below their place.
   *
   * @param {number} count
   */
  lay(count) {
    const { track, each, size } = this
    const laid = `${count} ${each} ${size.height}`
    if (laid !== this.laid) {
      track.resize(count * each, size.height, this.laidEach ? each / this.laidEach : 1)
      this.laid = laid
      this.laidEach = each
      this.count = count
      this.moved = true
      this.last = Math.min(this.last, count)
    }
    if (!this.covered()) this.draw()
    return { first: this.first, last: this.last, shift: track.top - track.offset, tall: track.tall }
  }

  /** @returns {[first: number, last: number]} */
  inView() {
    const { track, each, count } = this
    return [
      Math.min(count, Math.floor(track.offset / each)),
      Math.min(count, Math.ceil((track.offset + track.height) / each)),
    ]
  }

  /** Whether enough is drawn, and not too much. */
  covered() {
    const [from, to] = this.inView()
    const [above, below] = this.back ? [guard, 2] : [2, guard]
    return (
      this.first <= Math.max(0, from - above) &&
      this.last >= Math.min(this.count, to + below) &&
      this.last - this.first <= to - from + ahead + behind + 2
    )
  }

  draw() {
    const [from, to] = this.inView()
    this.first = Math.max(0, from - (this.back ? ahead : behind))
    this.last = Math.min(this.count, to + (this.back ? behind : ahead))
  }

  restart = () => {
    this.back = false
    this.to(0)
  }

  /** @param {number} offset */
  to(offset) {
    this.track.go(offset)
    this.moved = true
    this.put()
    this.turn()
  }

  /** Puts the bar where it belongs, if it was moved by other than the reader. */
  put() {
    const { current } = this.element
    if (!this.moved || !current) return
    this.moved = false
    current.scrollTop = this.track.top
    this.track.top = current.scrollTop // browsers round
  }

  /** @param {{ currentTarget: HTMLElement }} event */
  scrolled = ({ currentTarget }) => {
    const { track } = this
    const { top, offset } = track
    if (currentTarget.scrollTop === top) return
    track.moved(currentTarget.scrollTop)
    this.back = track.offset < offset
    if (track.cornered) this.to(track.offset)
    else if (!this.covered() || track.top - track.offset !== top - offset) this.turn()
    this.rows?.want(...this.inView())
  }

  /** Scrolling came to rest. */
  settle = () => {
    if (!this.track.exact && Math.abs(this.track.settled() - this.track.top) >= 1) this.to(this.track.offset)
  }

  /** @param {KeyboardEvent} event */
  key = (event) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return
    const { track, each } = this
    const page = Math.max(1, Math.floor(track.height / each) - 1) * each
    /** @type {Record<string, number>} */
    const places = {
      ArrowDown: track.offset + each,
      ArrowUp: track.offset - each,
      PageDown: track.offset + page,
      PageUp: track.offset - page,
      Home: 0,
      End: track.full,
    }
    const offset = track.within(places[event.key] ?? NaN)
    if (Number.isNaN(offset) || offset === track.offset) return
    event.preventDefault()
    this.back = offset < track.offset
    this.to(offset)
  }
}

/**
 * @param {{ columns: TableColumn[], sorted?: Sorted, onSort?: (by: string, order: 'asc' | 'desc') => void }} props
 */
function Head({ columns, sorted, onSort }) {
  /** @param {TableColumn} c */
  const sort = (c) =>
    onSort?.(c.id, sorted?.by === c.id ? (sorted.order === 'asc' ? 'desc' : 'asc') : (c.sort ?? 'asc'))
  return html`<div role="rowgroup" class="vtable-head">
    <div role="row" aria-rowindex="1" class="vrow">
      ${columns.map((c) => {
        const order = sorted?.by === c.id && c.sort ? sorted.order : null
        return html`<div
          role="columnheader"
          key=${c.id}
          class=${c.number ? 'number' : ''}
          aria-sort=${order ? `${order}ending` : c.sort ? 'none' : undefined}
        >
          ${
            c.sort
              ? html`<button type="button" class="sort" onClick=${() => sort(c)}>
                  ${explained(c.head)}
                  <span aria-hidden="true" class="arrow">${order === 'asc' ? '▲' : order === 'desc' ? '▼' : ''}</span>
                </button>`
              : explained(c.head)
          }
        </div>`
      })}
    </div>
  </div>`
}

/**
 * A row; the same one is not made again.
 *
 * @template T
 * @param {{ index: number, row: T | undefined, columns: TableColumn<T>[] }} props
 */
function Row({ index, row, columns }) {
  return useMemo(
    () => html`<div
      role="row"
      aria-rowindex=${index + 2}
      class="vrow ${row === undefined ? 'blank' : ''}"
      aria-busy=${row === undefined ? 'true' : undefined}
    >
      ${columns.map(
        (c) =>
          html`<div
            role="cell"
            key=${c.id}
            class="${c.number ? 'number' : ''} col-${c.id}"
            data-head=${c.bare ? undefined : c.head}
          >
            ${row === undefined ? html`<span class="skeleton"></span>` : c.of(row)}
          </div>`,
      )}
    </div>`,
    [index, row, columns],
  )
}
