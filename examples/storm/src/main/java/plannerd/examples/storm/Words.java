package plannerd.examples.storm;

import java.util.Arrays;
import java.util.Random;
import plannerd.sdk.handoff.Key;
import plannerd.sdk.route.Hashes;

/**
 * Words by Zipf's law, of which some change places from time to time: the r-th most frequent comes
 * r^−z times as often as the first.
 */
final class Words {
  private final String[] words; // by rank
  private final double[] below; // below[r]: the probability of a rank up to r
  private final Random random;
  private final int homes;

  /**
   * Makes words.
   *
   * @param homes how many instances a hash places words at, for {@link #shift}
   */
  Words(int keys, double z, int homes, long seed) {
    this.homes = homes;
    random = new Random(seed);
    words = new String[keys];
    for (int i = 0; i < keys; i++) {
      words[i] = "word-" + seed + "-" + i;
    }
    below = new double[keys];
    double sum = 0;
    for (int r = 0; r < keys; r++) {
      sum += Math.pow(r + 1, -z);
      below[r] = sum;
    }
    for (int r = 0; r < keys; r++) {
      below[r] /= sum;
    }
  }

  /** Returns the word at a number from 0 to 1 that is drawn evenly. */
  synchronized String at(double drawn) {
    return words[rank(drawn)];
  }

  private double share(int rank) {
    return rank == 0 ? below[0] : below[rank] - below[rank - 1];
  }

  private int home(int rank) {
    return (int) Long.remainderUnsigned(Hashes.keyHash(Key.of(words[rank]).bytes()), homes);
  }

  /**
   * Swaps words of different instances until the load of one has changed by so large a part of the
   * mean load, as the fluctuation rate f of the paper on mixed routing has it (§V).
   */
  synchronized void shift(double f) {
    double[] change = new double[homes];
    for (int tries = 0; tries < 1_000_000 && homes > 1; tries++) {
      for (double c : change) {
        if (Math.abs(c) * homes >= f) {
          return;
        }
      }
      // Of drawn words rather than of any: the frequent ones have to take part, or loads stay as they are.
      int a = rank(random.nextDouble());
      int b = random.nextInt(words.length);
      int from = home(a);
      int to = home(b);
      if (from == to) {
        continue;
      }
      double moved = share(a) - share(b);
      change[from] -= moved;
      change[to] += moved;
      String word = words[a];
      words[a] = words[b];
      words[b] = word;
    }
  }

  private int rank(double drawn) {
    int r = Arrays.binarySearch(below, drawn);
    return Math.min(r >= 0 ? r : -r - 1, words.length - 1);
  }
}
