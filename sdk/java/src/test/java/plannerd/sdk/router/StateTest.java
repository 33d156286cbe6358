package plannerd.sdk.router;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import plannerd.sdk.Vectors;
import plannerd.sdk.client.Json;
import plannerd.sdk.client.RoutingTable;
import plannerd.sdk.route.Destination;
import plannerd.sdk.route.Part;
import plannerd.sdk.route.RouteException;
import plannerd.sdk.route.Table;

class StateTest {
  @Test
  void tablesFollowAsInTheGoPackage() throws Exception {
    for (JsonNode history : Vectors.read("tables.json").get("tables")) {
      follow(history, false);
    }
  }

  /** A table that was written to a file and read again goes on in the same way. */
  @Test
  void tablesFollowOverARestart() throws Exception {
    for (JsonNode history : Vectors.read("tables.json").get("tables")) {
      follow(history, true);
    }
  }

  private static void follow(JsonNode history, boolean restarts) throws Exception {
    String router = history.get("router").asText();
    List<byte[]> keys = new ArrayList<>();
    history.get("keys").forEach(k -> keys.add(Vectors.key(k)));
    State state = State.NONE;
    for (JsonNode step : history.get("steps")) {
      String where = history.get("name").asText() + ", version " + step.get("answer").get("version");
      state = state.apply(Json.MAPPER.treeToValue(step.get("answer"), RoutingTable.class), router);
      if (restarts) {
        byte[] kept = Json.MAPPER.writeValueAsBytes(state.whole("clicks"));
        state = State.NONE.apply(Json.MAPPER.readValue(kept, RoutingTable.class), router);
      }
      for (int i = 0; i < keys.size(); i++) {
        check(step.get("lookups").get(i), state.table(), keys.get(i), where + ", key " + i);
      }
      if (!restarts) { // the turns of split keys begin anew after a restart
        for (JsonNode send : step.get("sends")) {
          assertEquals(send.get(1).asInt(), state.table().lookup(keys.get(send.get(0).asInt())).next(), where);
        }
      }
    }
  }

  private static void check(JsonNode want, Table table, byte[] key, String where) {
    Destination at = new Destination();
    if (want.get("instance").isNull()) {
      assertThrows(RouteException.class, () -> table.lookup(key, at), where);
    } else {
      table.lookup(key, at);
      assertEquals(want.get("instance").asInt(), at.instance(), where);
      List<Part> parts = new ArrayList<>();
      want.path("parts").forEach(p -> parts.add(new Part(p.get("instance").asInt(), p.get("weight").asInt())));
      assertEquals(parts, at.parts(), where);
      assertEquals(table.version(), at.version(), where);
    }
    assertEquals(want.get("paused").asBoolean(), at.paused(), where);
    if (want.has("then")) {
      assertEquals(want.get("then").asInt(), table.pending().lookup(key).instance(), where);
    } else if (table.pending() != null) {
      assertThrows(RouteException.class, () -> table.pending().lookup(key), where);
    } else {
      assertNull(table.pending(), where);
    }
  }

  @Test
  void whatDoesNotFitIsRefused() throws Exception {
    JsonNode steps = Vectors.read("tables.json").get("tables").get(0).get("steps");
    RoutingTable change = Json.MAPPER.treeToValue(steps.get(2).get("answer"), RoutingTable.class);
    assertThrows(IllegalArgumentException.class, () -> State.NONE.apply(change, "r"));
    RoutingTable first = Json.MAPPER.treeToValue(steps.get(0).get("answer"), RoutingTable.class);
    State state = State.NONE.apply(first, "r");
    RoutingTable later = Json.MAPPER.treeToValue(steps.get(3).get("answer"), RoutingTable.class);
    assertThrows(IllegalArgumentException.class, () -> state.apply(later, "r"));
    RoutingTable pkg = new RoutingTable("clicks", "pkg", null, 1, null, null, null, 1, null, null,
        null, null, null, null, null, null);
    assertThrows(State.SchemeException.class, () -> state.apply(pkg, "r"));
  }
}
