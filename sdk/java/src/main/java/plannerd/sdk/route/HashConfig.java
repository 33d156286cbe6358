package plannerd.sdk.route;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * How keys without an entry are placed. Fields that do not belong to the function are 0 or null.
 *
 * @param function one of the names below
 * @param tokensPerInstance how many ring tokens an instance holds that does not name its own
 *     number; 0 stands for {@link #DEFAULT_TOKENS_PER_INSTANCE}
 * @param maxParallelism Flink's number of key groups; 0 stands for
 *     {@link #DEFAULT_MAX_PARALLELISM}, as in Flink up to 85 instances
 * @param keyType what Flink's keys are: "string", "int" or "long"; null stands for "string"
 * @param partitions the number of Kafka partitions
 * @param assignment the id of the instance that consumes each partition; null: partition p
 *     belongs to instance p modulo the number of instances, in the order of their ids
 * @param affinity which part of a key is hashed; null: all of it
 */
public record HashConfig(String function, int tokensPerInstance, int maxParallelism, String keyType, int partitions,
    List<Integer> assignment, Affinity affinity) {
  /** Consistent hashing, see {@link TokenRing}: a node for each instance. */
  public static final String RING = "ring";
  /** {@link Hashes#keyHash}, unsigned, modulo the number of instances, in the order of their ids. */
  public static final String MODULO = "modulo";
  /**
   * keyBy of Apache Flink: Java's hash code of the key, Flink's murmur of that, modulo the max
   * parallelism, is the key group; the instances, in the order of their ids, own contiguous
   * ranges of key groups.
   */
  public static final String FLINK = "flink";
  /** The default partitioner of Apache Kafka's producer. */
  public static final String KAFKA = "kafka";
  /** No function: the engine reports where each key is. */
  public static final String REPORTED = "reported";

  public static final int DEFAULT_TOKENS_PER_INSTANCE = 128;
  public static final int DEFAULT_MAX_PARALLELISM = 128;

  private static final int DERIVED_MAX_PARALLELISM = 85;

  /** A function of whole keys. */
  public HashConfig(String function, int tokensPerInstance, int maxParallelism, String keyType, int partitions,
      List<Integer> assignment) {
    this(function, tokensPerInstance, maxParallelism, keyType, partitions, assignment, null);
  }

  /** A function that needs no more than its name. */
  public static HashConfig of(String function) {
    return new HashConfig(function, 0, 0, null, 0, null);
  }

  /**
   * Returns the hash function over the given instances, which are in ascending order of id; null
   * for {@link #REPORTED} without an affinity.
   *
   * @throws IllegalArgumentException if the configuration describes none
   */
  public HashFunction over(List<Node> instances) {
    return Affinity.by(affinity, whole(instances));
  }

  /** Returns the function that places keys by all of their bytes. */
  HashFunction whole(List<Node> instances) {
    int[] ids = ids(instances);
    switch (function) {
      case RING:
        TokenRing ring = new TokenRing(nodes(instances));
        return (key, hash) -> ring.at(Hashes.ringPosition(key));
      case MODULO:
        return (key, hash) -> ids[(int) Long.remainderUnsigned(hash, ids.length)];
      case FLINK:
        return flink(ids);
      case KAFKA:
        int[] owners = owners(ids);
        return (key, hash) -> owners[(Hashes.murmur2(key) & 0x7fffffff) % owners.length];
      case REPORTED:
        return null;
      default:
        throw new IllegalArgumentException("the hash function " + function + " is not known");
    }
  }

  /**
   * Reports whether two configurations place every key alike, each over its own instances. A
   * default that is spelled out makes no difference. It may say false of different functions that
   * happen to agree.
   */
  public static boolean same(HashConfig a, List<Node> ai, HashConfig b, List<Node> bi) {
    if (!a.function.equals(b.function) || !Objects.equals(a.affinity, b.affinity)) {
      return false;
    }
    switch (a.function) {
      case RING:
        return a.nodes(ai).equals(b.nodes(bi));
      case KAFKA:
        return Arrays.equals(a.owners(ids(ai)), b.owners(ids(bi)));
      case FLINK:
        return a.groups() == b.groups() && a.type().equals(b.type()) && Arrays.equals(ids(ai), ids(bi));
      default:
        return Arrays.equals(ids(ai), ids(bi));
    }
  }

  private static int[] ids(List<Node> instances) {
    int[] ids = instances.stream().mapToInt(Node::id).toArray();
    if (ids.length == 0 || ids[0] < 0) {
      throw new IllegalArgumentException("there must be at least one instance, with an id of at least 0");
    }
    for (int i = 1; i < ids.length; i++) {
      if (ids[i] <= ids[i - 1]) {
        throw new IllegalArgumentException("the ids of instances must ascend: " + ids[i] + " follows " + ids[i - 1]);
      }
    }
    return ids;
  }

  List<Node> nodes(List<Node> instances) {
    int each = tokensPerInstance == 0 ? DEFAULT_TOKENS_PER_INSTANCE : tokensPerInstance;
    return instances.stream().map(x -> new Node(x.id(), x.tokens() == 0 ? each : x.tokens())).toList();
  }

  private int groups() {
    return maxParallelism == 0 ? DEFAULT_MAX_PARALLELISM : maxParallelism;
  }

  private String type() {
    return Objects.requireNonNullElse(keyType, "string");
  }

  private HashFunction flink(int[] ids) {
    int groups = groups();
    if (groups < ids.length || maxParallelism == 0 && ids.length > DERIVED_MAX_PARALLELISM) {
      throw new IllegalArgumentException("maxParallelism is less than the number of instances, or not given");
    }
    int[] owners = new int[groups];
    for (int group = 0; group < groups; group++) {
      owners[group] = ids[(int) ((long) group * ids.length / groups)];
    }
    HashCodes.Of hashCode = HashCodes.of(type());
    return (key, hash) -> owners[Hashes.flinkMurmur(hashCode.of(key)) % owners.length];
  }

  private int[] owners(int[] ids) {
    if (partitions < 1 || assignment != null && assignment.size() != partitions) {
      throw new IllegalArgumentException("there must be at least one partition, and an instance for each");
    }
    int[] owners = new int[partitions];
    for (int p = 0; p < partitions; p++) {
      owners[p] = assignment == null ? ids[p % ids.length] : assignment.get(p);
      if (Arrays.binarySearch(ids, owners[p]) < 0) {
        throw new IllegalArgumentException("partition " + p + " belongs to " + owners[p] + ", which is no instance");
      }
    }
    return owners;
  }
}
