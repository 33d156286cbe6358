# The program is all that the image has, so there is no base image that could change or need updates.
#
# CGO_ENABLED=0 go build -trimpath -ldflags=-w -o image/ ./cmd/plannerd && mkdir -p image/data
# docker build -t plannerd .
# docker run --rm --network host -v plannerd:/data plannerd
#
# For other machines it wants a token, and TLS or, behind a proxy, the word that it is
# done without. In the environment, HEALTHCHECK finds that too:
# docker run --rm -p 8080:8080 -e PLANNERD_LISTEN=:8080 -e PLANNERD_TOKEN \
#   -e PLANNERD_INSECURE_HTTP=true -v plannerd:/data plannerd
FROM scratch
COPY image/plannerd /usr/local/bin/plannerd
COPY LICENSE THIRD_PARTY_NOTICES.txt /usr/share/doc/plannerd/
# A user without rights. Its folder is the volume, where SQLite has its temporary files, too.
COPY --chown=65532:65532 image/data /data
USER 65532:65532
WORKDIR /data
VOLUME /data
ENV PATH=/usr/local/bin PLANNERD_DATABASE_URL=sqlite:/data/plannerd.db
# The start may wait for the database and its migrations; the server answers meanwhile.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["plannerd", "healthcheck"]
ENTRYPOINT ["plannerd"]
CMD ["serve"]
