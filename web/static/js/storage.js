// What the browser keeps for the page, for the tab or for good. Where it keeps nothing,
// because the visitor has forbidden it, the page remembers for as long as it is open.

class Store {
  /** @type {Map<string, string>} */
  memory = new Map()

  /** @param {() => Storage} open gives the browser's storage, or throws where there is none */
  constructor(open) {
    this.open = open
  }

  /** @param {string} key */
  get(key) {
    try {
      return this.open().getItem(key)
    } catch {
      return this.memory.get(key) ?? null
    }
  }

  /**
   * @param {string} key
   * @param {string} value
   */
  set(key, value) {
    try {
      this.open().setItem(key, value)
    } catch {
      this.memory.set(key, value)
    }
  }

  /** @param {string} key */
  remove(key) {
    try {
      this.open().removeItem(key)
    } catch {
      this.memory.delete(key)
    }
  }
}

export const forTab = new Store(() => sessionStorage)
export const forGood = new Store(() => localStorage)
