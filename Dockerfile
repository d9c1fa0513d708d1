# racebot as a container: `docker build -t racebot .`, or see deploy/compose.yaml.
#
# Settings come from the environment or from files mounted into /srv/racebot, and a secret from the file that
# RACEBOT_CLIENT_SECRET_FILE names. No secret belongs in the image.
#
# Update both digests with the base image: `docker buildx imagetools inspect python:3.13-slim`.

FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b AS build

RUN python -m venv --without-pip /opt/racebot
WORKDIR /source
# The dependencies rarely change, so they come first and stay in Docker's cache.
COPY deploy/requirements.txt ./
RUN pip --python /opt/racebot/bin/python install --no-cache-dir --require-hashes --only-binary=:all: \
        --requirement requirements.txt \
    # A third of NumPy and SciPy are their own tests, and sqlite-utils needs pip only for its plugins.
    && find /opt/racebot -type d \( -name tests -o -name pip -o -name 'pip-*' \) -prune -exec rm -r {} +
COPY deploy/build-requirements.txt ./
RUN pip install --no-cache-dir --require-hashes --only-binary=:all: --requirement build-requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY racebot racebot
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir wheels . \
    && pip --python /opt/racebot/bin/python install --no-cache-dir --no-deps --no-index wheels/*.whl


FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b

# Cards need FriBidi to join Arabic letters. The program and its folder belong to root; the bot may write into
# state/ alone. Debian removes replaced versions, so pinned ones could not be installed later.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libfribidi0 \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 racebot \
    && useradd --uid 10001 --gid racebot --no-create-home --home-dir /srv/racebot --shell /usr/sbin/nologin racebot \
    && install --directory --owner=racebot --group=racebot --mode=0750 /srv/racebot/state
COPY --from=build /opt/racebot /opt/racebot

ENV PATH=/opt/racebot/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /srv/racebot
VOLUME ["/srv/racebot/state"]
USER 10001:10001

# Exit code 0 while the worker has seen its category within the last five minutes.
HEALTHCHECK --interval=1m --timeout=15s --start-period=2m --retries=3 CMD ["racebot", "health"]

ENTRYPOINT ["racebot"]
CMD ["run"]
