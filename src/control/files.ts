// GET /files/:name: the images that responses refer to. A browser fetches them, so the URL alone grants access.
import { z } from 'zod'
import { imageFile } from '../answers/image-files.ts'
import { ApiError } from '../contract/core/error.ts'
import type { Route } from '../contract/core/route.ts'
import { FILE_KIND, isStoredFile } from '../contract/router/images.ts'
import { DEFAULT_SESSION } from '../sessions/session.ts'
import type { ControlDeps } from './types.ts'

/** `GET /files/:name`: the image that a `url` in an image response refers to. */
export const fileRoute = ({ sessions }: ControlDeps): Route => ({
  method: 'get',
  path: '/files/:name',
  tag: 'Router',
  operationId: 'getPicture',
  summary: 'Get an image',
  description: 'The image that a `url` in an image response refers to. Available for one hour, without a token.',
  public: true,
  response: z.string().describe('The bytes of the image.'),
  contentType: 'image/*',
  errors: [404],
  async handle({ request, params: { name = '' } }) {
    // No session is created for a caller without a token, and a caller with another session's token still gets the
    // file.
    const sessionName = request.headers.get('x-understudy-session') ?? DEFAULT_SESSION
    const session = sessions.known(sessionName)
    const now = session?.clock.now() ?? 0
    const file = session?.keyValues.get(FILE_KIND, name, now, isStoredFile)
    if (!file) {
      const message = `there is no file ${JSON.stringify(name)}; files expire one hour after their response`
      throw new ApiError(404, 'file_not_found', message)
    }
    const { source, expires } = file
    const bytes = await imageFile(source, request.signal)
    return new Response(bytes.slice(), {
      headers: {
        'content-type': `image/${source.format}`,
        'content-length': String(bytes.length),
        'cache-control': `public, max-age=${Math.floor((expires - now) / 1000)}, immutable`,
      },
    })
  },
})
