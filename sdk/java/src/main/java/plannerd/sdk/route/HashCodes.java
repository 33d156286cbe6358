package plannerd.sdk.route;

/** Java's hash codes of keys that are written as text, computed without making objects of them. */
final class HashCodes {
  private HashCodes() {}

  interface Of {
    int of(byte[] key);
  }

  static Of of(String keyType) {
    switch (keyType) {
      case "string":
        return HashCodes::ofString;
      case "int":
        return HashCodes::ofInt;
      case "long":
        return HashCodes::ofLong;
      default:
        throw new IllegalArgumentException("the key type must be string, int or long, not " + keyType);
    }
  }

  /** String.hashCode: a polynomial in 31 over the UTF-16 code units. */
  private static int ofString(byte[] key) {
    int h = 0;
    for (int at = 0; at < key.length; ) {
      int first = key[at] & 0xff;
      if (first < 0x80) {
        h = h * 31 + first;
        at++;
        continue;
      }
      int size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
      int point = codePoint(key, at, first, size);
      if (size == 4) {
        h = h * 31 + Character.highSurrogate(point);
        point = Character.lowSurrogate(point);
      }
      h = h * 31 + point;
      at += size;
    }
    return h;
  }

  /** Decodes a code point of several bytes, in its shortest form only. */
  private static int codePoint(byte[] key, int at, int first, int size) {
    if (first < 0xc2 || first > 0xf4 || at + size > key.length) {
      throw notUtf8();
    }
    int point = first & 0xff >> size + 1;
    for (int i = 1; i < size; i++) {
      if ((key[at + i] & 0xc0) != 0x80) {
        throw notUtf8();
      }
      point = point << 6 | key[at + i] & 0x3f;
    }
    int least = size == 4 ? 0x10000 : size == 3 ? 0x800 : 0x80;
    if (point < least || point > Character.MAX_CODE_POINT || point >= 0xd800 && point <= 0xdfff) {
      throw notUtf8();
    }
    return point;
  }

  private static RouteException notUtf8() {
    return new RouteException("a key must be valid UTF-8 under the key type string");
  }

  /** Integer.hashCode, the number itself. */
  private static int ofInt(byte[] key) {
    long n = parse(key);
    if (n != (int) n) {
      throw notCanonical();
    }
    return (int) n;
  }

  /** Long.hashCode: one half of the number xor the other. */
  private static int ofLong(byte[] key) {
    return Long.hashCode(parse(key));
  }

  /**
   * Reads a decimal integer in the form that Java prints. Others are refused, because two
   * spellings of one number would be two keys here and one in the engine.
   */
  private static long parse(byte[] key) {
    int digits = key.length > 0 && key[0] == '-' ? 1 : 0;
    boolean isZero = key.length == 1 && key[0] == '0';
    if (key.length == digits || key.length - digits > 19 || key[digits] == '0' && !isZero) {
      throw notCanonical();
    }
    long n = 0; // negative, as the least number has no counterpart
    for (int at = digits; at < key.length; at++) {
      int digit = key[at] - '0';
      if (digit < 0 || digit > 9 || n < (Long.MIN_VALUE + digit) / 10) {
        throw notCanonical();
      }
      n = n * 10 - digit;
    }
    if (digits == 1) {
      return n;
    }
    if (n == Long.MIN_VALUE) {
      throw notCanonical();
    }
    return -n;
  }

  private static RouteException notCanonical() {
    return new RouteException("a key must be a decimal integer of the key type, without plus sign or leading zeros");
  }
}
