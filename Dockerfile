# The service: rpnb serve, as a user without rights, on a read-only root with one volume.
#
#   docker build -t rpnb .
#   docker run --read-only --tmpfs /tmp --volume rpnb:/data --publish 127.0.0.1:8000:8000 rpnb
#
# Tokens are made by the same image: docker run --volume rpnb:/data rpnb --add-token me predict,learn,admin

FROM python:3.13-slim AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends g++ \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml CMakeLists.txt README.md LICENSE ./
COPY cpp cpp
COPY src src
RUN python -m venv /opt/rpnb \
 && /opt/rpnb/bin/pip install --no-cache-dir '.[serve,kafka]' \
 && /opt/rpnb/bin/python -m compileall -q /opt/rpnb

FROM python:3.13-slim
RUN useradd --system --uid 10001 --home-dir /nonexistent --shell /usr/sbin/nologin rpnb \
 && install --directory --owner=rpnb --group=rpnb --mode=0700 /data
COPY --from=build /opt/rpnb /opt/rpnb
ENV PATH=/opt/rpnb/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER rpnb
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["rpnb", "serve", "/data/log", "--token-file", "/data/tokens", "--host", "0.0.0.0"]
