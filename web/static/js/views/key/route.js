// Where a key goes.

import { useResource } from '../../api.js'
import { count } from '../../format.js'
import { html, useLayoutEffect, useRef, useState } from '../../html.js'
import { named } from '../../instances.js'
import { Card, choose, Trouble } from '../../parts.js'
import { setQuery } from '../../route.js'
import { partsText } from '../plan/splits.js'
import { Story } from './story.js'

const longest = 1024 // bytes of a key
const encodings = [
  ['', 'Text'],
  ['base64', 'Base64'],
]

/**
 * asked is the key, as it is written in this encoding.
 *
 * @param {{ operator: API['Operator'], asked: string, encoding: string }} props
 */
export function Route({ operator, asked, encoding }) {
  const [key, setKey] = useState(asked)
  const before = useRef(asked)
  const [said, say] = useState('')
  useLayoutEffect(() => {
    // Only what comes from the address replaces what is being typed.
    if (before.current !== asked) setKey(asked)
    before.current = asked
  }, [asked])
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault()
    const wrong = fault(key, encoding)
    say(wrong)
    if (!wrong) setQuery({ key })
  }
  return html`<${Card} title="Where does a key go?">
    <form class="row operator-route" onSubmit=${submit}>
      <label class="visually-hidden" for="operator-key">Key</label>
      <input
        id="operator-key"
        type="text"
        value=${key}
        autocomplete="off"
        autocapitalize="off"
        spellcheck=${false}
        placeholder="A key"
        aria-invalid=${said ? 'true' : undefined}
        aria-describedby="operator-key-said"
        onInput=${(e) => {
          setKey(e.currentTarget.value)
          say('')
        }}
      />
      ${choose('How the key is written', encoding, encodings, (value) => setQuery({ key_encoding: value, key: '' }), {
        hidden: true,
      })}
      <button type="submit">Ask</button>
    </form>
    <p id="operator-key-said" class="form-said toned bad" role="alert">${said}</p>
    <div class="operator-answer" aria-live="polite">
      ${
        asked === ''
          ? html`<p class="muted">By the committed table, version ${count(operator.table_version)}.</p>`
          : html`<${Answer} operator=${operator} asked=${asked} encoding=${encoding} />`
      }
    </div>
  <//>`
}

/**
 * What is wrong with a key, before it is sent.
 *
 * @param {string} key
 * @param {string} encoding
 */
function fault(key, encoding) {
  if (key === '') return 'A key has one byte at least.'
  if (encoding !== 'base64') {
    const size = new TextEncoder().encode(key).length
    return size > longest ? `A key has ${count(longest)} bytes at most; this one has ${count(size)}.` : ''
  }
  try {
    atob(key)
    return ''
  } catch {
    return 'This is no Base64.'
  }
}

/** @param {{ operator: API['Operator'], asked: string, encoding: string }} props */
function Answer({ operator, asked, encoding }) {
  // Asked again when there is another table.
  /** @type {Watched<API['Route']>} */
  const route = useResource(`v1/operators/${encodeURIComponent(operator.name)}/route`, {
    query: { key: asked, key_encoding: encoding },
    every: 5_000,
  })
  if (route.data !== null)
    return html`<p>
        The key <code class="operator-key">${asked}</code>${
          route.data.routed_key !== undefined &&
          route.data.routed_key !== asked &&
          html`, routed as <code class="operator-key">${route.data.routed_key}</code>,`
        } goes to${' '}
        <strong>
          ${destination(route.data, operator)}</strong
        >: ${why(route.data, operator)}
      </p>
      ${
        operator.scheme === 'table' &&
        html`<${Story} operator=${operator} asked=${route.data.routed_key ?? asked} encoding=${encoding} />`
      }`
  if (route.problem?.code === 'table_not_held')
    return html`<p>The engine holds the table of this operator, so only the engine knows where a key goes.</p>`
  return route.problem
    ? html`<${Trouble} problem=${route.problem} retry=${route.reload} />`
    : html`<p class="muted">Asking …</p>`
}

/**
 * @param {API['Route']} route
 * @param {API['Operator']} operator
 */
function destination({ instance, parts, routing, candidates }, operator) {
  if (parts)
    return `instances ${partsText(parts, operator)}, split${routing ? ', each message to the least loaded' : ''}`
  return candidates?.[1] === undefined
    ? `instance ${named(operator, instance)}`
    : `any of the instances ${candidates.map((id) => named(operator, id)).join(', ')}`
}

/**
 * @param {API['Route']} route
 * @param {API['Operator']} operator
 */
function why({ source, version }, operator) {
  const pinned =
    operator.table_config_version === operator.config_version
      ? ''
      : `, under configuration version ${count(operator.table_config_version)}`
  switch (source) {
    case 'table':
      return `an entry of the routing table says so (version ${count(version)}${pinned}).`
    case 'hash':
      return `the routing table has no entry for it (version ${count(version)}${pinned}), so its hash function decides.`
    case 'ring':
      return (
        'the first token at or after its position on the ring is one of that instance' +
        ` (version ${count(version)}${pinned}).`
      )
    case 'range':
      return `that instance owns the range in which it lies (version ${count(version)}${pinned}).`
    case 'candidates':
      return (
        'these are its candidates, of which each message goes to the least loaded; the first one is where state is' +
        ` merged (version ${count(version)}${pinned}).`
      )
    default:
      return `by ${source} (version ${count(version)}${pinned}).`
  }
}
