# Understudy in a container: the executable on scratch. No shell, no root, nothing to write to but /data.
#
#   docker build -t understudy .
#   docker run --read-only -p 8633:8633 -v understudy:/data -e UNDERSTUDY_TOKEN=<token> understudy
#
# Both architectures, without emulation, since nothing runs in a stage of the other one:
#   docker buildx build --platform linux/amd64,linux/arm64 -t understudy .

FROM --platform=$BUILDPLATFORM node:22-bookworm-slim@sha256:43ac6c60b8f89723f746e8a92ce91abd5017e627ce1ddfe4238355d3a30b772c AS build
WORKDIR /src
# .npmrc switches install scripts off.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --loglevel=error
# The documentation site in the executable is built with these.
COPY tools/package.json tools/package-lock.json tools/.npmrc tools/
RUN npm ci --prefix tools --loglevel=error
COPY . .
ARG TARGETARCH=amd64
ARG REVISION=
RUN case "$TARGETARCH" in amd64) cpu=x64 ;; *) cpu="$TARGETARCH" ;; esac \
 && npm run build -- --platform "linux-$cpu" ${REVISION:+--commit "$REVISION"} \
 && mkdir -p /image/data && cp dist/understudy* /image/understudy

# Has the libraries of C and C++ that the executable and its database driver load.
FROM node:22-bookworm-slim@sha256:43ac6c60b8f89723f746e8a92ce91abd5017e627ce1ddfe4238355d3a30b772c AS libraries

# release/image.ts assembles the image that is published, with the same contents and settings.
FROM scratch
COPY --from=libraries /usr/lib/*-linux-gnu/ld-linux-*.so.* /lib/
COPY --from=libraries /usr/lib/*-linux-gnu/ld-linux-*.so.* /lib64/
COPY --from=libraries \
  /usr/lib/*-linux-gnu/libc.so.6 /usr/lib/*-linux-gnu/libm.so.6 /usr/lib/*-linux-gnu/libpthread.so.0 \
  /usr/lib/*-linux-gnu/libdl.so.2 /usr/lib/*-linux-gnu/libstdc++.so.6 /usr/lib/*-linux-gnu/libgcc_s.so.1 /lib/
COPY --from=libraries /etc/nsswitch.conf /etc/
COPY --from=build /image/understudy /understudy
COPY --from=build --chown=65532:65532 /image/data /data

ARG VERSION=1.0.0-rc.1
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Understudy" \
      org.opencontainers.image.description="A local stand-in for a model gateway and workspace API: offline, deterministic, in one executable." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"

# The executable unpacks its database driver into TMPDIR, and nothing but the volume can be written to.
ENV UNDERSTUDY_HOST=0.0.0.0 \
    UNDERSTUDY_DB=/data/understudy.db \
    TMPDIR=/data
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8633
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["/understudy", "health"]
ENTRYPOINT ["/understudy"]
CMD ["serve"]
