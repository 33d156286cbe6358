package plannerd.examples.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class OptionsTest {
  @Test
  void optionsAreRead() {
    Options o = Options.parse(new String[] {"--grouping", "mixed", "--state-bytes", "7", "--follow", "--service",
        "0.4ms", "--zipf", "1.2"});
    assertEquals(Grouping.MIXED, o.grouping);
    assertEquals(7, o.stateBytes);
    assertTrue(o.follow);
    assertEquals(Duration.ofNanos(400_000), o.service);
    assertEquals(1.2, o.zipf);
    assertEquals(Grouping.SHUFFLE, o.with(Grouping.SHUFFLE, 2).grouping);
  }

  @Test
  void whatIsWrongIsSaid() {
    for (String[] args : new String[][] {{"--no-such", "1"}, {"--keys"}, {"--keys", "many"}, {"--service", "4"},
        {"--grouping", "all"}}) {
      assertThrows(IllegalArgumentException.class, () -> Options.parse(args));
    }
  }
}
