package plannerd.examples.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import plannerd.sdk.handoff.Key;
import plannerd.sdk.route.Hashes;

class WordsTest {
  private static final int DRAWS = 200_000;

  private static Map<String, Integer> drawn(Words words) {
    Map<String, Integer> n = new HashMap<>();
    Random random = new Random(3);
    for (int i = 0; i < DRAWS; i++) {
      n.merge(words.at(random.nextDouble()), 1, Integer::sum);
    }
    return n;
  }

  @Test
  void wordsComeByZipfsLaw() {
    Map<String, Integer> n = drawn(new Words(1000, 1, 4, 1));
    double first = n.get("word-1-0");
    assertEquals(DRAWS / 7.485, first, DRAWS * 0.004); // the 1000th harmonic number
    assertEquals(first / 10, n.get("word-1-9"), first * 0.02);
  }

  /** After a shift the load of an instance has changed by as much as was asked for, and not much more. */
  @Test
  void aShiftChangesLoads() {
    for (double f : new double[] {0.2, 1}) {
      Words words = new Words(1000, 1, 4, 1);
      double[] change = new double[4];
      drawn(words).forEach((w, n) -> change[home(w)] -= n);
      words.shift(f);
      drawn(words).forEach((w, n) -> change[home(w)] += n);
      double most = 0;
      for (double c : change) {
        most = Math.max(most, Math.abs(c) * 4 / DRAWS);
      }
      assertTrue(most > f - 0.02 && most < f + 0.6, f + ": " + most);
    }
  }

  private static int home(String word) {
    return (int) Long.remainderUnsigned(Hashes.keyHash(Key.of(word).bytes()), 4);
  }
}
