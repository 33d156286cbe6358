// Samples of keys, made in the browser: the same ones every time.

/**
 * A generator of numbers from 0 to below 1 (xorshift32), so that a sample is always the same.
 *
 * @param {number} seed
 */
function generator(seed) {
  let x = seed
  return () => {
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    return (x >>> 0) / 2 ** 32
  }
}

/**
 * The numbers from 0 to below n in an order of chance.
 *
 * @param {number} n
 * @param {() => number} random
 */
function shuffled(n, random) {
  const out = Array.from({ length: n }, (_, i) => i)
  for (let i = n - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[out[i], out[j]] = [out[j], out[i]]
  }
  return out
}

const keys = 2_000

/**
 * Rows whose costs follow Zipf's law: the key of rank r costs top / r^z. Names do not
 * follow the ranks.
 *
 * @param {number} z
 * @param {number} top
 */
function zipf(z, top) {
  const random = generator(20_161)
  const names = shuffled(keys, random)
  const rows = names.map((name, rank) => {
    const cost = Math.max(1, Math.round(top / (rank + 1) ** z))
    return `item:${String(name).padStart(4, '0')},${cost},${1 + Math.floor(random() * 4096)}`
  })
  return `key,cost,state\n${rows.sort().join('\n')}\n`
}

/** Costs that are about the same. */
function even() {
  const random = generator(20_161)
  const rows = Array.from(
    { length: keys },
    (_, i) => `item:${String(i).padStart(4, '0')},${20 + Math.floor(random() * 20)},${1 + Math.floor(random() * 4096)}`,
  )
  return `key,cost,state\n${rows.join('\n')}\n`
}

/** @type {Record<string, { words: string, make: () => string }>} */
export const samples = {
  zipf: { words: '2,000 keys, Zipf with z = 0.8', make: () => zipf(0.8, 4_000) },
  skewed: { words: '2,000 keys, Zipf with z = 1.2: one of them is hot', make: () => zipf(1.2, 20_000) },
  even: { words: '2,000 keys of about the same cost', make: even },
}
