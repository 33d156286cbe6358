package plannerd.sdk;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import plannerd.sdk.route.Affinity;
import plannerd.sdk.route.HashConfig;
import plannerd.sdk.route.Node;

/** Reads the vectors that the Go package wrote. */
public final class Vectors {
  private Vectors() {}

  public static JsonNode read(String name) throws IOException {
    return new ObjectMapper().readTree(Path.of(System.getProperty("plannerd.vectors"), name).toFile());
  }

  public static byte[] key(JsonNode hex) {
    return HexFormat.of().parseHex(hex.asText());
  }

  public static List<Node> nodes(JsonNode list) {
    List<Node> out = new ArrayList<>();
    list.forEach(n -> out.add(new Node(n.get("id").asInt(), n.path("tokens").asInt())));
    return out;
  }

  private static Affinity affinity(JsonNode a) {
    return a == null ? null
        : new Affinity(a.path("tag").asBoolean(), a.has("until") ? a.get("until").asText() : null, a.path("count").asInt());
  }

  public static HashConfig hash(JsonNode h) {
    List<Integer> assignment = null;
    if (h.has("assignment")) {
      assignment = new ArrayList<>();
      for (JsonNode id : h.get("assignment")) {
        assignment.add(id.asInt());
      }
    }
    String type = h.has("key_type") ? h.get("key_type").asText() : null;
    return new HashConfig(h.get("function").asText(), h.path("tokens_per_instance").asInt(),
        h.path("max_parallelism").asInt(), type, h.path("partitions").asInt(), assignment, affinity(h.get("affinity")));
  }
}
