package plannerd.sdk.route;

/** The hashes of keys. All read the bytes of a key as little-endian words. */
public final class Hashes {
  private Hashes() {}

  /**
   * Returns the first half of murmur3_x64_128 with seed 0 of the key, as 64 bits without a sign.
   * It places keys under {@link HashConfig#MODULO} and indexes routing tables.
   */
  public static long keyHash(byte[] key) {
    return seeded(key, 0);
  }

  /**
   * Returns the ids of the instances to which partial key grouping may send a key, the first
   * candidate first: as many as there are choices, at most all. Keys of the head have choices of
   * their own.
   *
   * @param instances ids in ascending order
   */
  public static int[] candidates(byte[] key, int[] instances, int choices) {
    int[] out = new int[Math.min(choices, instances.length)];
    boolean[] taken = new boolean[instances.length];
    for (int seed = 0; seed < out.length; seed++) {
      int at = (int) Long.remainderUnsigned(seeded(key, seed), instances.length);
      while (taken[at]) {
        at = (at + 1) % instances.length;
      }
      taken[at] = true;
      out[seed] = instances[at];
    }
    return out;
  }

  /** The first half of murmur3_x64_128. */
  private static long seeded(byte[] key, long seed) {
    final long c1 = 0x87c37b91114253d5L;
    final long c2 = 0x4cf5ad432745937fL;
    long h1 = seed;
    long h2 = seed;
    int at = 0;
    for (; at + 16 <= key.length; at += 16) {
      h1 ^= Long.rotateLeft(littleEndian(key, at, 8) * c1, 31) * c2;
      h1 = (Long.rotateLeft(h1, 27) + h2) * 5 + 0x52dce729;
      h2 ^= Long.rotateLeft(littleEndian(key, at + 8, 8) * c2, 33) * c1;
      h2 = (Long.rotateLeft(h2, 31) + h1) * 5 + 0x38495ab5;
    }
    int rest = key.length - at;
    if (rest > 8) {
      h2 ^= Long.rotateLeft(littleEndian(key, at + 8, rest - 8) * c2, 33) * c1;
    }
    if (rest > 0) {
      h1 ^= Long.rotateLeft(littleEndian(key, at, Math.min(rest, 8)) * c1, 31) * c2;
    }
    h1 ^= key.length;
    h2 ^= key.length;
    h1 += h2;
    h2 += h1;
    return mix(h1) + mix(h2);
  }

  /**
   * Returns where a key, or the name of a token, lies on a token ring: murmur3_x86_32 of its
   * bytes with seed 0, as 32 bits without a sign.
   */
  public static int ringPosition(byte[] key) {
    int h = 0;
    int at = 0;
    for (; at + 4 <= key.length; at += 4) {
      h = Integer.rotateLeft(h ^ scramble((int) littleEndian(key, at, 4)), 13) * 5 + 0xe6546b64;
    }
    if (at < key.length) {
      h ^= scramble((int) littleEndian(key, at, key.length - at));
    }
    return mix32(h ^ key.length);
  }

  /** Returns the 32-bit MurmurHash2 with the seed that Apache Kafka gives it. */
  public static int murmur2(byte[] key) {
    final int m = 0x5bd1e995;
    int h = 0x9747b28c ^ key.length;
    int at = 0;
    for (; at + 4 <= key.length; at += 4) {
      int k = (int) littleEndian(key, at, 4) * m;
      h = h * m ^ (k ^ k >>> 24) * m;
    }
    if (at < key.length) {
      h = (h ^ (int) littleEndian(key, at, key.length - at)) * m;
    }
    h = (h ^ h >>> 13) * m;
    return h ^ h >>> 15;
  }

  /**
   * Returns MathUtils.murmurHash of Apache Flink: murmur3_x86_32 of one word, and of that the
   * absolute value; 0 for the number that has none.
   */
  static int flinkMurmur(int code) {
    int h = Math.abs(mix32(Integer.rotateLeft(scramble(code), 13) * 5 + 0xe6546b64 ^ 4));
    return h & 0x7fffffff;
  }

  /** The finalizer of murmur3_x64_128. */
  static long mix(long x) {
    x = (x ^ x >>> 33) * 0xff51afd7ed558ccdL;
    x = (x ^ x >>> 33) * 0xc4ceb9fe1a85ec53L;
    return x ^ x >>> 33;
  }

  /** The finalizer of murmur3_x86_32. */
  private static int mix32(int h) {
    h = (h ^ h >>> 16) * 0x85ebca6b;
    h = (h ^ h >>> 13) * 0xc2b2ae35;
    return h ^ h >>> 16;
  }

  private static int scramble(int k) {
    return Integer.rotateLeft(k * 0xcc9e2d51, 15) * 0x1b873593;
  }

  /** Returns n bytes as a word, the first of them the lowest. */
  private static long littleEndian(byte[] key, int at, int n) {
    long word = 0;
    for (int i = n - 1; i >= 0; i--) {
      word = word << 8 | key[at + i] & 0xff;
    }
    return word;
  }
}
