package plannerd.sdk.route;

import java.util.List;

/**
 * What a plan that is being carried out will make of a table.
 *
 * @param version what the table's will be
 * @param set entries that are added or replaced; their keys are held back
 * @param unset keys whose entries go; they are held back, too
 * @param hash places the keys without an entry then
 * @param routing how parts of split keys are chosen then
 * @param rehashed the hash places keys differently than now: all keys whose route will be another
 *     are held back, too
 */
public record Pending(long version, List<Entry> set, List<byte[]> unset, HashFunction hash, Routing routing,
    boolean rehashed) {}
