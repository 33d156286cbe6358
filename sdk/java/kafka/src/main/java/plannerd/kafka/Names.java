package plannerd.kafka;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Names of members: those that the table has. */
final class Names {
  /** A member id as brokers make it for the classic protocol: the client's id and a UUID. */
  private static final Pattern MEMBER_ID =
      Pattern.compile("(.+)-\\p{XDigit}{8}(-\\p{XDigit}{4}){3}-\\p{XDigit}{12}", Pattern.DOTALL);

  private Names() {}

  /**
   * Returns a name as the table has it. One of digits alone would be the id of an instance there, so a
   * {@code #} stands before it.
   */
  static String inTable(String name) {
    return !name.isEmpty() && name.chars().allMatch(c -> c >= '0' && c <= '9') ? "#" + name : name;
  }

  /** Returns the client's id that a member id begins with; null: it does not. */
  static String clientId(String memberId) {
    Matcher m = MEMBER_ID.matcher(memberId);
    return m.matches() ? m.group(1) : null;
  }

  /**
   * Returns the ids of members by their names: the instance's id, else the client's where it is the
   * name of nobody else, else the member's own.
   *
   * @param instances ids of instances by ids of members
   */
  static TreeMap<String, String> classic(Map<String, Optional<String>> instances) {
    Map<String, String> candidates = new HashMap<>();
    Map<String, Integer> times = new HashMap<>();
    instances.forEach((id, instance) -> {
      String name = instance.orElseGet(() -> clientId(id));
      candidates.put(id, name);
      times.merge(name == null ? id : name, 1, Integer::sum);
    });
    TreeMap<String, String> ids = new TreeMap<>();
    instances.forEach((id, instance) -> {
      String name = candidates.get(id);
      ids.put(inTable(instance.isPresent() || name != null && times.get(name) == 1 ? name : id), id);
    });
    return ids;
  }

  /** Numbers names in their order. */
  static Map<String, Integer> numbered(Iterable<String> names) {
    Map<String, Integer> numbers = new HashMap<>();
    names.forEach(name -> numbers.put(name, numbers.size()));
    return numbers;
  }
}
