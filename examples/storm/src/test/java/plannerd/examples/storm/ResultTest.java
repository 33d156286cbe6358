package plannerd.examples.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ResultTest {
  private static Result of(double throughput, int violations) {
    return new Result("theta=0.1", Grouping.PKG_MERGED, Map.of(Figure.THROUGHPUT, throughput, Figure.MERGES, 0.5),
        List.of(), 0, violations);
  }

  @Test
  void mediansAreOfEachFigureAndViolationsAddUp() {
    Result m = Result.median(List.of(of(30, 1), of(10, 0), of(20, 2)));
    assertEquals(20, m.of(Figure.THROUGHPUT));
    assertEquals(0, m.of(Figure.PLANS));
    assertEquals(3, m.violations());
    assertEquals("median,theta=0.1,pkg-merged,20.0,,,,,0.5,,,,,,,,,,,,,3", m.csv("median"));
    assertEquals(Result.csvHeader().split(",").length, m.csv("1").split(",").length);
  }

  @Test
  void throughputRisesAfterAJoin() {
    List<Long> seconds = List.of(700L, 800L, 940L, 1000L);
    assertEquals(3, Monitor.rise(seconds, 900));
    assertEquals(1, Monitor.rise(seconds, 700));
    assertEquals(5, Monitor.rise(seconds, 1001));
  }
}
