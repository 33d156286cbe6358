// What the browser keeps for the page, for the tab or for good. Where it keeps nothing,
// because the visitor has forbidden it, the page remembers for as long as it is open.

class Store {
  /** @type {Map<string, string>} */
  memory = new Map()

  /** @param {() => Storage} open gives the browser's storage, or throws where there is none */
  constructor(open) {
    this.open = open
  }

  /**
   * @template T
   * @param {(storage: Storage) => T} kept
   * @param {(memory: Map<string, string>) => T} remembered
   */
  #use(kept, remembered) {
    try {
      return kept(this.open())
    } catch {
      return remembered(this.memory)
    }
  }

  /** @param {string} key */
  get(key) {
    return this.#use(
      (storage) => storage.getItem(key),
      (memory) => memory.get(key) ?? null,
    )
  }

  /**
   * @param {string} key
   * @param {string} value
   */
  set(key, value) {
    this.#use(
      (storage) => storage.setItem(key, value),
      (memory) => memory.set(key, value),
    )
  }

  /** @param {string} key */
  remove(key) {
    this.#use(
      (storage) => storage.removeItem(key),
      (memory) => memory.delete(key),
    )
  }
}

export const forTab = new Store(() => sessionStorage)
export const forGood = new Store(() => localStorage)
