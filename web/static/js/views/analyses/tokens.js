// Where the tokens of a ring lie, as the API documents it: token j of node i is at
// murmur3_x86_32("token-{i}-{j}"), and a position belongs to the first token at or after
// it, wrapping round.

/** @typedef {{ owner: number, size: number }} Arc */

/** @typedef {{ position: number, node: number, token: number, added: boolean }} Token */

export const positions = 2 ** 32
export const mostDrawn = 2 ** 19 // tokens that are placed in the browser

/**
 * @param {number} x
 * @param {number} by
 */
const rotated = (x, by) => (x << by) | (x >>> (32 - by))

/** @param {number} block */
function mixed(block) {
  return Math.imul(rotated(Math.imul(block, 0xcc9e2d51), 15), 0x1b873593)
}

/**
 * murmur3_x86_32 with seed 0 of a text of ASCII.
 *
 * @param {string} text
 */
function murmur3(text) {
  const length = text.length
  let hash = 0
  let at = 0
  for (; at + 4 <= length; at += 4) {
    const block =
      text.charCodeAt(at) |
      (text.charCodeAt(at + 1) << 8) |
      (text.charCodeAt(at + 2) << 16) |
      (text.charCodeAt(at + 3) << 24)
    hash = (Math.imul(rotated(hash ^ mixed(block), 13), 5) + 0xe6546b64) | 0
  }
  let tail = 0
  for (let i = length - 1; i >= at; i--) tail = (tail << 8) | text.charCodeAt(i)
  if (at < length) hash ^= mixed(tail)
  hash ^= length
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/**
 * The arcs of a ring from position 0 on. The
 * first arc and the last one may be of the same token.
 *
 * @param {{ id: number, tokens: number }[]} nodes
 */
export function arcsOf(nodes) {
  const sorted = [...nodes].sort((a, b) => a.id - b.id)
  const places = new Float64Array(sorted.reduce((n, node) => n + node.tokens, 0))
  const room = sorted.length
  let next = 0
  sorted.forEach(({ id, tokens }, i) => {
    // Equal positions are in the order of the nodes.
    for (let j = 0; j < tokens; j++) places[next++] = murmur3(`token-${id}-${j}`) * room + i
  })
  places.sort()
  /** @type {Arc[]} */
  const arcs = []
  let from = -1
  for (const place of places) {
    const position = Math.floor(place / room)
    if (position > from) add(arcs, sorted[place % room].id, position - from)
    from = Math.max(from, position)
  }
  if (places.length > 0) add(arcs, sorted[places[0] % room].id, positions - 1 - from)
  return arcs
}

/**
 * Neighbouring arcs of one node are one.
 *
 * @param {Arc[]} arcs
 * @param {number} owner
 * @param {number} size
 */
function add(arcs, owner, size) {
  const last = arcs.at(-1)
  if (last?.owner === owner) last.size += size
  else if (size > 0) arcs.push({ owner, size })
}

/**
 * The tokens that come and go. The tokens of a node are its first ones.
 *
 * @param {{ id: number, before: number, after: number }[]} nodes
 */
export function tokensChanged(nodes) {
  /** @type {Token[]} */
  const out = []
  for (const { id, before, after } of nodes) {
    for (let j = Math.min(before, after); j < Math.max(before, after); j++)
      out.push({ position: murmur3(`token-${id}-${j}`), node: id, token: j, added: after > before })
  }
  return out
}
