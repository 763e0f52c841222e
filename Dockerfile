# docker build --tag godwit .     See docs/packaging.md.
FROM debian:bookworm-slim AS build
WORKDIR /godwit
COPY tools/install_packages tools/
RUN tools/install_packages build && apt-get install --yes --no-install-recommends dpkg-dev file
COPY . .
RUN cmake --preset release -DGODWIT_TESTS=OFF \
    && cmake --build build/release --target godwit godwit_shell_files \
    && cd build/release && cpack -G DEB

FROM debian:bookworm-slim
COPY --from=build /godwit/build/release/godwit_*.deb /tmp/
RUN apt-get update \
    && apt-get install --yes --no-install-recommends /tmp/godwit_*.deb \
    && rm -rf /tmp/godwit_*.deb /var/lib/apt/lists/* \
    && useradd --system --create-home godwit
USER godwit
EXPOSE 8000
ENTRYPOINT ["godwit"]
CMD ["--help"]
