package plannerd.sdk.stats;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import plannerd.sdk.client.Row;
import plannerd.sdk.handoff.Key;

class ExactTest {
  private static List<String> merged(Exact first, Exact second) {
    List<String> rows = new ArrayList<>();
    for (Row r : Exact.merge(Map.of(2, second.close(), 0, first.close()))) {
      rows.add(new Key(r.key()) + " " + r.cost() + " " + r.state() + " " + r.instance());
    }
    return rows;
  }

  @Test
  void aKeyThatMovedHasOneRow() {
    Exact first = new Exact();
    Exact second = new Exact();
    first.add(Key.of("moved"), 3);
    first.setState(Key.of("moved"), 10);
    first.forget(Key.of("moved"));
    first.add(Key.of("stays"), 1);
    second.add(Key.of("moved"), 2);
    second.setState(Key.of("moved"), 12);
    assertEquals(List.of("moved 5.0 12.0 2", "stays 1.0 0.0 0"), merged(first, second));
    assertEquals(List.of("moved 0.0 12.0 2", "stays 0.0 0.0 0"), merged(first, second));
  }
}
