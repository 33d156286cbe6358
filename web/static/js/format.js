// Numbers with their units, and times.

import { forGood } from './storage.js'
import { Topic, useTopic } from './topic.js'

const locale = 'en'
const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 })
const exact = new Intl.NumberFormat(locale, { maximumSignificantDigits: 15 })
const brief = new Intl.NumberFormat(locale, { notation: 'compact', maximumSignificantDigits: 3 })
const three = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 })
const two = new Intl.NumberFormat(locale, { maximumSignificantDigits: 2 })

/**
 * The same format, with a dash for what is missing.
 *
 * @param {(x: number) => string} format
 * @returns {(x: number | null | undefined) => string}
 */
const orDash = (format) => (x) => (x === null || x === undefined ? '–' : format(x))

/** A count: 12,810. */
export const count = orDash((n) => whole.format(n))

/**
 * A count and what is counted: "1 key", "12,810 keys".
 *
 * @param {number | null | undefined} n
 * @param {string} one
 * @param {string} [many]
 */
export const counted = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`

/** An amount in few digits: 12.8K. */
export const amount = orDash((x) => {
  const size = Math.abs(x)
  if (size >= 1e15 || (size > 0 && size < 1e-3)) return x.toExponential(2)
  return size < 1000 ? three.format(x) : brief.format(x)
})

/** An amount with all its digits. */
export const exactly = orDash((x) =>
  Math.abs(x) >= 1e15 || (x !== 0 && Math.abs(x) < 1e-6) ? String(x) : exact.format(x),
)

/** @param {Intl.NumberFormat} digits */
const asPercent = (digits) =>
  orDash((x) => {
    const p = 100 * x
    const size = Math.abs(p)
    if (size > 0 && size < 0.01) return p > 0 ? '< 0.01 %' : '> −0.01 %'
    return `${size >= 1e6 ? amount(p) : size >= 100 ? whole.format(p) : digits.format(p)} %`
  })

/** A share as percent: 0.0128 is 1.28 %. */
export const percent = asPercent(three)

/** The same of what is only expected: 1.3 %. */
export const roughly = asPercent(two)

/** What the API says for infinitely much. */
export const endless = 1e290

/** A level of a resource as percent, θ or the part of a capacity that is taken; both can be infinite. */
export const levelText = orDash((x) => (x >= endless ? '∞' : percent(x)))

const binary = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB']

/** @param {number} x */
const bytes = (x) => {
  let unit = 0
  while (Math.abs(x) >= 1024 && unit < binary.length - 1) {
    x /= 1024
    unit++
  }
  return `${three.format(x)} ${binary[unit]}`
}

const unitKey = 'plannerd.state'
const units = new Topic()

/** What state is counted in: 'units', as engines send it, or 'bytes'. The API does not know. */
export const stateUnit = () => (forGood.get(unitKey) === 'bytes' ? 'bytes' : 'units')

/** @param {string} unit */
export function setStateUnit(unit) {
  forGood.set(unitKey, unit)
  units.tell()
}

/** Draws a view anew when the unit of state changes. */
export function useStateUnit() {
  useTopic(units)
  return stateUnit()
}

/** State with its unit: "12.8K of state", or "12.5 KiB". */
export const state = orDash((x) => (stateUnit() === 'bytes' ? bytes(x) : `${amount(x)} of state`))

/** State in a column whose head names the unit. */
export const stateOnly = orDash((x) => (stateUnit() === 'bytes' ? bytes(x) : amount(x)))

/** A duration in milliseconds: "3.4 ms", "12 s". */
export const duration = orDash((ms) => {
  if (ms < 1) return `${three.format(ms * 1000)} µs`
  if (ms < 1000) return `${three.format(ms)} ms`
  if (ms < 120_000) return `${three.format(ms / 1000)} s`
  return `${whole.format(ms / 60_000)} min`
})

const bearable = 5_000 // milliseconds by which clocks may differ
let ahead = 0

/** The time by the server's clock, whose times the page shows: that of the visitor may be wrong. */
export const clock = () => Date.now() + ahead

/**
 * Takes in what the server's clock shows now.
 *
 * @param {string} date
 */
export function setClock(date) {
  const difference = Number(new Date(date)) - Date.now()
  if (!Number.isNaN(difference)) ahead = Math.abs(difference) > bearable ? difference : 0
}

/** @type {[below: number, unit: Intl.RelativeTimeFormatUnit, size: number][]} */
const steps = [
  [60, 'second', 1],
  [3600, 'minute', 60],
  [86_400, 'hour', 3600],
  [30 * 86_400, 'day', 86_400],
  [365 * 86_400, 'month', 30 * 86_400],
  [Infinity, 'year', 365 * 86_400],
]
const relativeTime = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' })

/**
 * A time from now: "3 min. ago", "in 2 hr.".
 *
 * @param {string | number | Date} time
 * @param {number} [now]
 */
export function relative(time, now = clock()) {
  const seconds = (Number(new Date(time)) - now) / 1000
  const [, unit, size] = steps.find(([below]) => Math.abs(seconds) < below) ?? steps[steps.length - 1]
  return unit === 'second' && Math.abs(seconds) < 5 ? 'just now' : relativeTime.format(Math.trunc(seconds / size), unit)
}

const absoluteTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
const absoluteToday = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })

/**
 * A time of the visitor's clock: "22 Nov 2026, 01:05:33", of today without its day.
 *
 * @param {string | number | Date} time
 * @param {number} [now]
 */
export function absolute(time, now = clock()) {
  const at = new Date(time)
  return at.toDateString() === new Date(now).toDateString() ? absoluteToday.format(at) : absoluteTime.format(at)
}

/**
 * The ids of instances in few words: "3, 4 and 9 more".
 *
 * @param {(string | number)[]} items
 * @param {number} [most]
 */
export function some(items, most = 8) {
  if (items.length <= most) return items.join(', ')
  return `${items.slice(0, most - 1).join(', ')} and ${items.length - most + 1} more`
}
