package plannerd.examples.storm;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A plannerd that is built from this repository, and runs on a free port of loopback. */
final class Plannerd implements AutoCloseable {
  private static final Pattern READY = Pattern.compile(" is at (http\\S+) ");

  final String address;
  private final Path dir;
  private final Process process;

  /** Builds and starts it. The repository is the folder two above the example's. */
  Plannerd(Path repository) throws IOException, InterruptedException {
    dir = Files.createTempDirectory("storm-");
    Path program = dir.resolve("plannerd");
    Process build = new ProcessBuilder("go", "build", "-o", program.toString(), "./cmd/plannerd")
        .directory(repository.toFile()).inheritIO().start();
    if (build.waitFor() != 0) {
      throw new IOException("plannerd could not be built in " + repository);
    }
    File log = dir.resolve("log").toFile();
    process = new ProcessBuilder(List.of(program.toString(), "serve", "--listen=127.0.0.1:0",
        "--database-url=sqlite:" + dir.resolve("plannerd.db"))).redirectError(log).start();
    Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
    address = ready(process.inputReader());
    if (address == null) {
      throw new IOException("plannerd has ended: " + Files.readString(log.toPath()));
    }
  }

  /** Returns the address, which it prints when its database is open; null: it has ended before. */
  private static String ready(BufferedReader output) throws IOException {
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      Matcher found = READY.matcher(line);
      if (found.find()) {
        return found.group(1);
      }
    }
    return null;
  }

  @Override
  public void close() throws IOException, InterruptedException {
    process.destroy();
    if (!process.waitFor(10, TimeUnit.SECONDS)) {
      process.destroyForcibly();
    }
    try (Stream<Path> all = Files.walk(dir)) {
      for (Path p : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(p);
      }
    }
  }
}
