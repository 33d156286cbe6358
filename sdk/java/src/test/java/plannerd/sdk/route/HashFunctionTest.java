package plannerd.sdk.route;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import plannerd.sdk.Vectors;
import plannerd.sdk.client.Json;

class HashFunctionTest {
  @Test
  void hashesAreThoseOfTheGoPackage() throws Exception {
    JsonNode keys = Vectors.read("functions.json").get("keys");
    assertTrue(keys.size() > 100);
    for (JsonNode k : keys) {
      byte[] key = Vectors.key(k.get("hex"));
      assertEquals(k.get("key_hash").asText(), String.format("%016x", Hashes.keyHash(key)), k::toString);
      assertEquals(k.get("ring_position").asLong(), Integer.toUnsignedLong(Hashes.ringPosition(key)), k::toString);
      assertEquals(k.get("murmur2").asLong(), Integer.toUnsignedLong(Hashes.murmur2(key)), k::toString);
    }
  }

  @Test
  void functionsPlaceKeysAsTheGoPackage() throws Exception {
    JsonNode all = Vectors.read("functions.json");
    for (JsonNode f : all.get("functions")) {
      Placement by = Json.MAPPER.treeToValue(f.get("placement"), Placement.class);
      HashFunction place = Placement.over(Vectors.hash(f.get("hash")), Vectors.nodes(f.get("instances")), by);
      for (int i = 0; i < all.get("keys").size(); i++) {
        JsonNode want = f.get("placed").get(i);
        byte[] key = Vectors.key(all.get("keys").get(i).get("hex"));
        String where = f.get("hash") + " " + all.get("keys").get(i);
        if (want.isNull()) {
          assertThrows(RouteException.class, () -> place.instance(key, Hashes.keyHash(key)), where);
        } else {
          assertEquals(want.asInt(), place.instance(key, Hashes.keyHash(key)), where);
        }
      }
    }
  }

  @Test
  void candidatesAreThoseOfTheGoPackage() throws Exception {
    JsonNode all = Vectors.read("candidates.json");
    assertTrue(all.get("groups").size() > 3);
    for (JsonNode group : all.get("groups")) {
      int[] instances = ids(group.get("instances"));
      for (int i = 0; i < all.get("keys").size(); i++) {
        byte[] key = Vectors.key(all.get("keys").get(i));
        assertArrayEquals(ids(group.get("candidates").get(i)),
            Hashes.candidates(key, instances, group.get("choices").asInt()), all.get("keys").get(i).asText());
      }
    }
  }

  private static int[] ids(JsonNode list) {
    int[] out = new int[list.size()];
    for (int i = 0; i < out.length; i++) {
      out[i] = list.get(i).asInt();
    }
    return out;
  }

  @Test
  void hashCodesAreThoseOfTheJvm() {
    Random random = new Random(1);
    for (int i = 0; i < 20_000; i++) {
      int number = random.nextInt() >> random.nextInt(32);
      assertEquals(Integer.hashCode(number), HashCodes.of("int").of(bytes(Integer.toString(number))));
      long great = random.nextLong() >> random.nextInt(64);
      assertEquals(Long.hashCode(great), HashCodes.of("long").of(bytes(Long.toString(great))));
      StringBuilder text = new StringBuilder();
      for (int n = random.nextInt(12); n > 0; n--) {
        int point = random.nextInt(Character.MAX_CODE_POINT + 1) >> random.nextInt(20);
        text.appendCodePoint(Character.getType(point) == Character.SURROGATE ? 'x' : point);
      }
      assertEquals(text.toString().hashCode(), HashCodes.of("string").of(bytes(text.toString())), text::toString);
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @Test
  void ringsAreThoseOfTheGoPackage() throws Exception {
    for (JsonNode r : Vectors.read("rings.json").get("rings")) {
      TokenRing ring = new TokenRing(Vectors.nodes(r.get("nodes")));
      List<TokenRing.Token> tokens = ring.tokens();
      assertEquals(r.get("count").asInt(), tokens.size());
      for (int i = 0; i < r.get("first").size(); i++) {
        assertToken(r.get("first").get(i), tokens.get(i));
        assertToken(r.get("last").get(i), tokens.get(tokens.size() - r.get("last").size() + i));
      }
      for (JsonNode at : r.get("at")) {
        assertEquals(at.get(1).asInt(), ring.at((int) at.get(0).asLong()), at::toString);
      }
    }
  }

  private static void assertToken(JsonNode want, TokenRing.Token got) {
    assertEquals(want.get(0).asLong(), Integer.toUnsignedLong(got.position()));
    assertEquals(want.get(1).asInt(), got.node());
    assertEquals(want.get(2).asInt(), got.index());
  }

  @Test
  void sameComparesByEffect() {
    List<Node> two = List.of(new Node(0, 0), new Node(1, 0));
    HashConfig ring = HashConfig.of("ring");
    assertTrue(HashConfig.same(ring, two, new HashConfig("ring", 128, 0, null, 0, null), two));
    assertFalse(HashConfig.same(ring, two, new HashConfig("ring", 64, 0, null, 0, null), two));
    assertFalse(HashConfig.same(ring, two, HashConfig.of("modulo"), two));
    assertTrue(HashConfig.same(new HashConfig("kafka", 0, 0, null, 3, null), two,
        new HashConfig("kafka", 0, 0, null, 3, List.of(0, 1, 0)), two));
    assertTrue(HashConfig.same(HashConfig.of("flink"), two, new HashConfig("flink", 0, 128, "string", 0, null), two));
    assertFalse(HashConfig.same(HashConfig.of("modulo"), two, HashConfig.of("modulo"), two.subList(0, 1)));
  }

  @Test
  void wrongConfigurationsAreRefused() {
    List<Node> two = List.of(new Node(0, 0), new Node(1, 0));
    assertThrows(IllegalArgumentException.class, () -> HashConfig.of("sha").over(two));
    assertThrows(IllegalArgumentException.class, () -> HashConfig.of("modulo").over(List.of()));
    assertThrows(IllegalArgumentException.class, () -> HashConfig.of("kafka").over(two));
    assertThrows(IllegalArgumentException.class,
        () -> HashConfig.of("modulo").over(List.of(new Node(1, 0), new Node(1, 0))));
    assertThrows(IllegalArgumentException.class,
        () -> new HashConfig("kafka", 0, 0, null, 2, List.of(0, 7)).over(two));
    assertThrows(IllegalArgumentException.class, () -> new HashConfig("flink", 0, 1, null, 0, null).over(two));
  }
}
