// Headers of the measured call.
export const headers = { 'content-type': 'application/json', authorization: 'Bearer any' }
