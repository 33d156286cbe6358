package plannerd.examples.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
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
  void anOptionIsVaried() {
    Options o = Options.parse(new String[] {"--vary", "merge=10ms,1s", "--keys", "7"});
    assertEquals(List.of("merge=10ms", "merge=1s"), List.copyOf(o.settings().keySet()));
    assertEquals(Duration.ofSeconds(1), o.settings().get("merge=1s").merge);
    assertEquals(7, o.settings().get("merge=1s").keys);
    assertEquals(1, Options.parse(new String[0]).settings().size());
  }

  /** Aggregators are replaced, and instances join, where that is asked for and the grouping can do it. */
  @Test
  void instancesAreCounted() {
    Options o = Options.parse(new String[] {"--instances", "8", "--equal", "--join", "3"});
    assertEquals(10, o.with(Grouping.FIELDS, 1).most());
    assertEquals(13, o.with(Grouping.OPTIMAL, 1).most());
    assertEquals(8, o.with(Grouping.PKG_MERGED, 1).most());
    assertEquals(11, o.with(Grouping.SPLIT, 1).most());
  }

  @Test
  void whatIsWrongIsSaid() {
    for (String[] args : new String[][] {{"--no-such", "1"}, {"--keys"}, {"--keys", "many"}, {"--service", "4"},
        {"--grouping", "all"}, {"--groupings", "fields,all"}, {"--vary", "theta"},
        {"--vary", "theta=0.02,small"}, {"--vary", "no-such=1"}, {"--vary", "runs=1,0"}, {"--duration", "500ms"},
        {"--follow", "--abort", "0.1"}, {"--abort", "0.1", "--vary", "follow=false,true"}}) {
      assertThrows(IllegalArgumentException.class, () -> Options.parse(args));
      assertEquals(2, run(args), () -> String.join(" ", args));
    }
  }

  private String said; // by the last run, to people

  private int run(String... args) {
    PrintStream before = System.err;
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
    try {
      return Main.run(args, Path.of("no such repository"));
    } finally {
      System.setErr(before);
      said = err.toString(StandardCharsets.UTF_8);
    }
  }

  /** What fails outside the job, where nothing is counted, is no success. */
  @Test
  void aRunThatCannotBeginFails() {
    assertEquals(1, run());
    assertTrue(said.contains("no such repository"), said);
  }

  @Test
  void splittingIsAskedFor() {
    Options o = Options.parse(new String[] {"--split-price", "3"});
    assertEquals(Map.of("max_parts", 8, "price", 3.0), Grouping.SPLIT.operator(8, o).get("splitting"));
    assertEquals(Map.of("max_parts", 8, "routing", "least_loaded"),
        Grouping.SPLIT_LEAST_LOADED.operator(8, new Options()).get("splitting"));
    assertNull(Grouping.OPTIMAL.operator(8, o).get("splitting"));
  }
}
