package plannerd.examples.storm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class CountTest {
  @Test
  void stateIsWhatItWasAfterAMove() {
    Count c = new Count(2, 100);
    c.n = 7;
    c.last[1] = 4;
    Count moved = Count.decode(c.encode(), 2);
    assertEquals(124, moved.size());
    assertArrayEquals(c.encode(), moved.encode());
    moved.last[0] = 9;
    moved.join(c).join(null);
    assertEquals(14, moved.n);
    assertArrayEquals(new long[] {9, 4}, moved.last);
  }

  @Test
  void histogramsHaveQuantiles() {
    Histogram h = new Histogram();
    for (int i = 1; i <= 1000; i++) {
      h.add(i * 1_000_000L);
    }
    assertEquals(500, h.quantile(0.5), 10);
    assertEquals(990, h.quantile(0.99), 20);
    assertEquals(500.5, h.mean(), 10);
  }

  /** An instance that is late takes no more time for it all, as long as it is not late by much. */
  @Test
  void paceIsKept() {
    Pace p = new Pace();
    long begin = System.nanoTime();
    long done = 0;
    for (int i = 0; i < 50; i++) {
      done = p.serve(begin, 2_000_000);
    }
    assertTrue(done - begin >= 100_000_000, () -> "50 messages of 2 ms were served too fast");
  }
}
