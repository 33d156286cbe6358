// The filters of lists, as they stand in the address.

import { useId } from 'preact/hooks'
import { idOf, Named } from '../../../instances.js'
import { html, useContext, useEffect, useRef, useState } from '../../../html.js'
import { Select } from '../../../parts.js'
import { setQuery } from '../../../route.js'
import { reasons, reasonWords } from '../../../words.js'

const pause = 250 // milliseconds after the last key

/** @import { Having } from '../../../instances.js' */

/** @type {(text: string, of: Having) => boolean} */
const isInstance = (text, of) => idOf(of, text) !== undefined
const noInstance = 'An instance is a whole number, or the name of one of this plan.'
/** @param {string} text */
const isAmount = (text) => /^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) && Number.isFinite(Number(text))
/** @param {string} text */
const isText = (text) => new TextEncoder().encode(text).length <= 1024

/**
 * @type {Record<string, { label: string, mode?: string, valid: (text: string, of: Having) => boolean,
 *   wrong: string }>}
 */
const controls = {
  key_prefix: { label: 'Key begins with', valid: isText, wrong: 'Keys have 1,024 bytes at most.' },
  key_contains: { label: 'Key contains', valid: isText, wrong: 'Keys have 1,024 bytes at most.' },
  instance: { label: 'Instance', mode: 'text', valid: isInstance, wrong: noInstance },
  from: { label: 'From', mode: 'text', valid: isInstance, wrong: noInstance },
  to: { label: 'To', mode: 'text', valid: isInstance, wrong: noInstance },
  reason: { label: 'Reason', valid: (text) => reasons.includes(text), wrong: 'There is no such reason.' },
  min_cost: { label: 'Cost at least', mode: 'decimal', valid: isAmount, wrong: 'A cost is a number, 0 or more.' },
  min_state: { label: 'State at least', mode: 'decimal', valid: isAmount, wrong: 'State is a number, 0 or more.' },
}

/**
 * The filters of these names that an address has, those that make sense: {filters, wrong}. Instances of the plan that
 * are named there are ids here.
 *
 * @param {Query} query
 * @param {string[]} names
 * @param {Having} of
 * @returns {{ filters: Record<string, string>, wrong: string | null }}
 */
export function filtersOf(query, names, of) {
  const text = (/** @type {string} */ name) => query[name] ?? ''
  const said = names.filter((name) => text(name) !== '')
  const good = said.filter((name) => controls[name].valid(text(name), of))
  return {
    filters: Object.fromEntries(
      good.map((name) => [name, controls[name].valid === isInstance ? String(idOf(of, text(name))) : text(name)]),
    ),
    wrong: said.filter((name) => !good.includes(name)).map((name) => controls[name].wrong)[0] ?? null,
  }
}

/**
 * Fields for the filters of these names, and said, what they find. What is typed is put into the address once typing
 * pauses.
 *
 * @param {{ label: string, names: string[], query: Query, said: Children, children?: Children }} props
 */
export function Filters({ label, names, query, said, children }) {
  const active = names.filter((name) => query[name])
  const reset = () => setQuery(Object.fromEntries(names.map((name) => [name, null])))
  return html`<form class="migrations-filters" role="search" aria-label=${label} onSubmit=${(e) => e.preventDefault()}>
    <div class="row migrations-fields">
      ${names.map((name) =>
        name === 'reason'
          ? html`<${Choice} key=${name} value=${query.reason ?? ''} />`
          : html`<${Typed} key=${name} name=${name} value=${query[name] ?? ''} />`,
      )}
    </div>
    <div class="row migrations-line">
      <p class="migrations-count" aria-live="polite">${said}</p>
      ${active.length > 0 && html`<button type="button" class="quiet" onClick=${reset}>Reset filters</button>`}
      ${children}
    </div>
  </form>`
}

/**
 * What is wrong with a filter, which then is as if it were not there.
 *
 * @param {{ of: string | null }} props
 */
export const Wrong = ({ of }) =>
  of && html`<span class="migrations-wrong toned bad"> ${of} This filter is left out.</span>`

/** @param {{ value: string }} props */
function Choice({ value }) {
  const id = useId()
  return html`<div class="migrations-field migrations-choice">
    <label for=${id}>Reason</label>
    <${Select}
      id=${id}
      value=${value}
      options=${[['', 'any'], ...Object.entries(reasonWords)]}
      onChange=${(to) => setQuery({ reason: to })}
    />
  </div>`
}

/** @param {{ name: string, value: string }} props */
function Typed({ name, value }) {
  const { label, mode, valid } = controls[name]
  const of = useContext(Named)
  const id = useId()
  const [text, setText] = useState(value)
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined))
  // What the address says otherwise, as after a reset, is what the field says.
  useEffect(() => {
    clearTimeout(timer.current)
    setText(value)
  }, [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  /** @param {string} typed */
  const apply = (typed) => {
    clearTimeout(timer.current)
    setQuery({ [name]: mode ? typed.trim() : typed })
  }
  /** @param {string} typed */
  const type = (typed) => {
    setText(typed)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => apply(typed), pause)
  }
  return html`<div class="migrations-field migrations-${mode ?? 'bytes'}">
    <label for=${id}>${label}</label>
    <input
      id=${id}
      type="text"
      inputmode=${mode}
      autocomplete="off"
      autocapitalize="off"
      spellcheck=${false}
      value=${text}
      aria-invalid=${value !== '' && !valid(value, of) ? 'true' : undefined}
      onInput=${(e) => type(e.currentTarget.value)}
      onKeyDown=${(e) => e.key === 'Enter' && apply(text)}
    />
  </div>`
}
