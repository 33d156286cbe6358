// The rows of a table: those in memory, and those that are asked for page by page.

import { passing, pauseAfter, Problem, wasAborted } from './api.js'

const pageSize = 500 // rows asked for at once
const ahead = 2 // pages kept ready in the direction of scrolling; one on the other side
const kept = 200 // pages remembered
const atOnce = 3 // requests at a time
const rush = 60 // milliseconds: where the view jumps more often, only the last jump is asked for

/**
 * Rows that are all there, as pages have them.
 *
 * @template T
 * @param {T[]} rows
 * @returns {Pick<Pages<T>, 'row' | 'total' | 'problem' | 'want' | 'close'>}
 */
export const held = (rows) => ({ row: (i) => rows[i], total: rows.length, problem: null, want() {}, close() {} })

/**
 * Rows that load(skip, size, signal) gives as {rows, total}: those in view first, then
 * those that the reader is about to reach. changed is called whenever there are more, or
 * a problem.
 *
 * @template T
 */
export class Pages {
  /** @type {Map<number, T[]>} */
  pages = new Map()
  /** @type {Map<number, AbortController>} */
  asked = new Map()
  /** @type {number[]} */
  wanted = []
  /** @type {number | null} */
  total = null
  /** @type {Problem | null} */
  problem = null
  first = 0
  back = false
  jumped = -Infinity
  timer = 0
  failures = 0
  closed = false

  /**
   * @param {Load<T>} load
   * @param {() => void} changed
   */
  constructor(load, changed) {
    this.load = load
    this.changed = changed
  }

  /** @param {number} i */
  row(i) {
    return this.pages.get(Math.floor(i / pageSize))?.[i % pageSize]
  }

  /**
   * Says which rows are in view: those from first on, before last.
   *
   * @param {number} first
   * @param {number} last
   */
  want(first, last) {
    if (first !== this.first) this.back = first < this.first
    this.first = first
    const before = this.wanted[0]
    this.wanted = this.nearest(Math.floor(first / pageSize), Math.floor(Math.max(first, last - 1) / pageSize))
    for (const [page, abort] of this.asked) if (!this.wanted.includes(page)) abort.abort()
    if (this.problem || this.closed) return
    const jump = this.wanted[0] !== before && !this.pages.has(this.wanted[0])
    const wait = jump && performance.now() - this.jumped < rush
    if (jump) this.jumped = performance.now()
    if (wait) this.later(rush)
    else this.ask()
  }

  /**
   * The pages from one to another, then those around them, the likeliest next ones first.
   *
   * @param {number} from
   * @param {number} to
   */
  nearest(from, to) {
    /** @type {number[]} */
    const pages = []
    for (let p = from; p <= to; p++) pages.push(p)
    for (let d = 1; d <= ahead; d++) pages.push(this.back ? from - d : to + d)
    pages.push(this.back ? to + 1 : from - 1)
    const end = this.total === null ? 0 : Math.max(0, Math.ceil(this.total / pageSize) - 1)
    return pages.filter((p) => p >= 0 && p <= end)
  }

  /** @param {number} ms */
  later(ms) {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.ask(), ms)
  }

  ask() {
    while (!this.problem && !this.closed && this.asked.size < atOnce) {
      const page = this.wanted.find((p) => !this.pages.has(p) && !this.asked.has(p))
      if (page === undefined) return
      this.fetch(page)
    }
  }

  /** @param {number} page */
  async fetch(page) {
    const abort = new AbortController()
    this.asked.set(page, abort)
    try {
      this.keep(page, await this.load(page * pageSize, pageSize, abort.signal))
    } catch (problem) {
      if (!wasAborted(problem)) this.fail(problem)
    } finally {
      this.asked.delete(page)
    }
    if (this.closed) return
    this.changed()
    this.ask()
  }

  /**
   * @param {number} page
   * @param {{ rows: T[], total: number }} answer
   */
  keep(page, { rows, total }) {
    this.failures = 0
    const begun = this.total === null
    this.total = total
    if (begun) this.wanted = this.nearest(page, page) // only now it is known that there are more
    this.pages.set(page, rows)
    if (this.pages.size > kept) this.forget()
  }

  /** Lets one page go that nobody looks at. */
  forget() {
    const page = [...this.pages.keys()].find((p) => !this.wanted.includes(p))
    if (page !== undefined) this.pages.delete(page)
  }

  /** @param {unknown} problem */
  fail(problem) {
    if (!(problem instanceof Problem)) throw problem
    this.problem = problem
    if (passing(problem)) this.timer = setTimeout(() => this.retry(), pauseAfter(problem, this.failures++))
  }

  retry() {
    clearTimeout(this.timer)
    this.problem = null
    if (this.wanted.length === 0) this.wanted = [0]
    this.ask()
  }

  close() {
    this.closed = true
    clearTimeout(this.timer)
    for (const abort of this.asked.values()) abort.abort()
  }
}
